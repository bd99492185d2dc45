import { type Json, jsonBytes } from '../../core/json.ts'
import type { LeafRequest } from './load-canvas.ts'

/** Publish bodies are stored in items of so many bytes, below the 400 KB that one may have; a longer one has its own. */
const PAGE_BYTES = 300 * 1024

export type Page = { readonly from: number; readonly requests: readonly LeafRequest[] }

export function pagesOf(leaves: readonly LeafRequest[]): Page[] {
  const pages: Array<{ from: number; requests: LeafRequest[] }> = []
  let room = 0
  for (const [leaf, request] of leaves.entries()) {
    const bytes = jsonBytes(request as unknown as Json) + 1
    if (bytes > room) {
      pages.push({ from: leaf, requests: [] })
      room = PAGE_BYTES
    }
    pages.at(-1)?.requests.push(request)
    room -= bytes
  }
  return pages
}
