/** FNV-1a, 32 bit, over the UTF-16 code units of `text`: spreads ids over shards and shortens names. Not for secrets. */
export function hash32(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) {
    hash ^= text.charCodeAt(i)
    hash = Math.imul(hash, 0x01000193)
  }
  return hash >>> 0
}
