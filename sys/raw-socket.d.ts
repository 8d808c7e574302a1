/** What is used of npm's raw-socket, which has no types of its own. */
declare module 'raw-socket' {
  import type { EventEmitter } from 'node:events';

  interface Socket extends EventEmitter {
    /** Throws where setsockopt fails. */
    setOption(level: number, option: number, value: number): void;
    setOption(level: number, option: number, value: Buffer, length: number): void;
    send(
      buffer: Buffer,
      offset: number,
      length: number,
      address: string,
      done: (error: Error | null, bytes: number) => void,
    ): void;
    close(): void;
  }

  const raw: {
    createSocket(options: { readonly protocol: number; readonly addressFamily: number }): Socket;
    readonly Protocol: { readonly ICMPv6: number };
    readonly AddressFamily: { readonly IPv6: number };
  };
  export = raw;
}
