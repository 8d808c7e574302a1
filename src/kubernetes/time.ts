/** RFC 3339 in whole seconds, as metav1.Time is written. */
export function formatTime(time: Date): string {
  return time.toISOString().replace(/\.\d{3}Z$/, 'Z');
}

/** With six decimals, as metav1.MicroTime is parsed. */
export function formatMicroTime(time: Date): string {
  return time.toISOString().replace('Z', '000Z');
}
