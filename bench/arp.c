/* The reference of bench/arp.ts: a responder for one address, and the client that measures any responder.
 *   arp respond IFACE IP
 *   arp ask IFACE IP COUNT INTERVAL_US    prints: answered median_ns p99_ns max_ns */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static unsigned char mac[6];

static int open_arp(const char *name) {
  int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ARP));
  struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ARP), .sll_ifindex = if_nametoindex(name)};
  struct ifreq request = {0};
  strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  if (fd < 0 || bind(fd, (void *)&at, sizeof at) || ioctl(fd, SIOCGIFHWADDR, &request)) exit(2);
  memcpy(mac, request.ifr_hwaddr.sa_data, 6);
  return fd;
}

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
  long long x = *(const long long *)a, y = *(const long long *)b;
  return x < y ? -1 : x > y;
}

static void frame_of(unsigned char *f, const unsigned char *to, int operation, const unsigned char *sender_ip,
                     const unsigned char *target_mac, const unsigned char *target_ip) {
  static const unsigned char head[] = {8, 6, 0, 1, 8, 0, 6, 4, 0};
  memcpy(f, to, 6);
  memcpy(f + 6, mac, 6);
  memcpy(f + 12, head, sizeof head);
  f[21] = operation;
  memcpy(f + 22, mac, 6);
  memcpy(f + 28, sender_ip, 4);
  memcpy(f + 32, target_mac, 6);
  memcpy(f + 38, target_ip, 4);
}

int main(int argc, char **argv) {
  unsigned char ip[4], in[2048], out[42], zero[6] = {0}, all[6] = {255, 255, 255, 255, 255, 255}, self[4] = {192, 168, 50, 2};
  if (argc < 4 || inet_pton(AF_INET, argv[3], ip) != 1) return 2;
  int fd = open_arp(argv[2]);
  if (!strcmp(argv[1], "respond")) {
    puts("ready");
    fflush(stdout);
    for (;;) {
      long n = recv(fd, in, sizeof in, 0);
      if (n < 42 || in[21] != 1 || memcmp(in + 38, ip, 4)) continue;
      frame_of(out, in + 6, 2, ip, in + 22, in + 28);
      send(fd, out, 42, 0);
    }
  }
  int count = atoi(argv[4]), interval = atoi(argv[5]), answered = 0;
  long long *times = calloc(count, sizeof *times);
  for (int i = 0; i < count; i++) {
    frame_of(out, all, 1, self, zero, ip);
    long long sent = now();
    send(fd, out, 42, 0);
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    while (poll(&ready, 1, 1000) > 0) {
      long n = recv(fd, in, sizeof in, 0);
      if (n < 42 || in[21] != 2 || memcmp(in + 28, ip, 4)) continue;
      times[answered++] = now() - sent;
      break;
    }
    usleep(interval);
  }
  qsort(times, answered, sizeof *times, by_value);
  if (!answered) puts("0 0 0 0");
  else printf("%d %lld %lld %lld\n", answered, times[answered / 2], times[answered * 99 / 100], times[answered - 1]);
  return 0;
}
