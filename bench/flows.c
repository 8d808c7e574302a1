/* flows PROTOCOL ADDRESS PORT COUNT: opens COUNT flows one after another, each from a new port, and prints how many a
 * second and how many failed. udp: one datagram each. tcp: connect, then reset, so that no port waits.
 * flows PORT: accepts connections and closes them. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

static int sink(int port) {
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(port)};
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(fd, (struct sockaddr *)&here, sizeof here) < 0 || listen(fd, 4096) < 0) return 1;
  for (;;) close(accept(fd, NULL, NULL));
}

int main(int argc, char **argv) {
  if (argc == 2) return sink(atoi(argv[1]));
  if (argc != 5) return 2;
  int tcp = strcmp(argv[1], "tcp") == 0;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[3]))};
  if (inet_pton(AF_INET, argv[2], &to.sin_addr) != 1) return 2;
  int count = atoi(argv[4]), failed = 0;
  struct linger reset = {1, 0};
  double started = now();
  for (int i = 0; i < count; i++) {
    int fd = socket(AF_INET, tcp ? SOCK_STREAM : SOCK_DGRAM, 0);
    if (tcp) setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0) failed++;
    else if (!tcp && send(fd, "x", 1, 0) < 0) failed++;
    close(fd);
  }
  printf("%.0f %d\n", count / (now() - started), failed);
  return 0;
}
