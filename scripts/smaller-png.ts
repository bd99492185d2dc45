import { crc32, deflateSync, inflateSync } from 'node:zlib'

/**
 * Makes a picture of a page smaller, without a loss. Chromium filters each row of its pictures, which suits photographs. Large areas of one
 * colour are a quarter smaller without filters.
 */

const SIGNATURE_BYTES = 8
/** Length, type and checksum of a chunk. */
const CHUNK_FRAME_BYTES = 12
const RGB_BYTES = 3
const RGB_COLOUR_TYPE = 2

/** The same picture without filters. A picture that is not one of plain RGB is returned as it is. */
export function smallerPng(png: Buffer): Buffer {
  const chunks = chunksOf(png)
  const header = chunks.find(({ type }) => type === 'IHDR')
  if (!header || header.data[9] !== RGB_COLOUR_TYPE) return png
  const data = Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(chunk => chunk.data))
  const rows = inflateSync(data)
  unfilter(rows, header.data.readUInt32BE(0) * RGB_BYTES)
  const smaller = chunkOf('IDAT', deflateSync(rows, { level: 9 }))
  const made = Buffer.concat([
    png.subarray(0, SIGNATURE_BYTES),
    chunkOf('IHDR', header.data),
    smaller,
    chunkOf('IEND', Buffer.alloc(0)),
  ])
  return made.length < png.length ? made : png
}

type Chunk = { readonly type: string; readonly data: Buffer }

function chunksOf(png: Buffer): Chunk[] {
  const chunks: Chunk[] = []
  for (let at = SIGNATURE_BYTES; at < png.length; ) {
    const length = png.readUInt32BE(at)
    chunks.push({ type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) })
    at += CHUNK_FRAME_BYTES + length
  }
  return chunks
}

function chunkOf(type: string, data: Buffer): Buffer {
  const framed = Buffer.alloc(CHUNK_FRAME_BYTES + data.length)
  framed.writeUInt32BE(data.length, 0)
  framed.write(type, 4, 'latin1')
  data.copy(framed, 8)
  framed.writeUInt32BE(crc32(framed.subarray(4, 8 + data.length)), 8 + data.length)
  return framed
}

/** Replaces each row by its pixels, in place. The first byte of a row names its filter: https://www.w3.org/TR/png-3/#9Filters */
function unfilter(rows: Buffer, bytes: number): void {
  for (let row = 0; row < rows.length; row += bytes + 1) {
    const filter = rows[row] ?? 0
    const byteAt = (at: number, isInside: boolean) => (isInside ? (rows[at] ?? 0) : 0)
    for (let at = row + 1; at <= row + bytes; at++) {
      const hasLeft = at - RGB_BYTES > row
      const above = at - bytes - 1
      const left = byteAt(at - RGB_BYTES, hasLeft)
      const corner = byteAt(above - RGB_BYTES, hasLeft && row > 0)
      rows[at] = byteAt(at, true) + predicted(filter, left, byteAt(above, row > 0), corner)
    }
    rows[row] = 0
  }
}

function predicted(filter: number, left: number, up: number, corner: number): number {
  const paeth = () => {
    const [a, b, c] = [left, up, corner].map(one => Math.abs(left + up - corner - one)) as [
      number,
      number,
      number,
    ]
    if (a <= b && a <= c) return left
    return b <= c ? up : corner
  }
  return [() => 0, () => left, () => up, () => (left + up) >> 1, paeth][filter]?.() ?? 0
}
