import { CHUNK_LEAVES, chunksOf } from '../../core/canvas/layout.ts'
import type { Knowledge } from '../../core/canvas/standing.ts'
import type { End } from '../../core/task/head-fields.ts'
import type { CanvasEnds } from '../../ports/stores.ts'
import type { System } from '../kernel/system.ts'
import type { LoadedCanvas } from './canvas.ts'

const NAMES = ['unknown', 'open', 'succeeded', 'failed'] as const
const OPEN = 1
const SUCCEEDED = 2
const FAILED = 3

/** The counted ends of a canvas's members that were read so far, chunk by chunk. */
export type KnownEnds = {
  readonly standingOf: Knowledge
  /** How the leaf has ended; undefined when it has not ended, or when its chunk was not read. */
  endOf(leaf: number): End | undefined
  add(chunk: number, ends: CanvasEnds): void
  hasChunk(chunk: number): boolean
}

export function createKnownEnds({ leaves }: LoadedCanvas): KnownEnds {
  const states = new Uint8Array(leaves)
  const chunks = new Set<number>()
  const standingOf: Knowledge = leaf => NAMES[states[leaf] ?? 0] ?? 'unknown'
  return {
    standingOf,
    endOf: leaf => {
      const state = standingOf(leaf)
      return state === 'succeeded' || state === 'failed' ? state : undefined
    },
    add: (chunk, { ok, bad }) => {
      chunks.add(chunk)
      const from = chunk * CHUNK_LEAVES
      states.fill(OPEN, from, Math.min(leaves, from + CHUNK_LEAVES))
      for (const leaf of ok) states[leaf] = SUCCEEDED
      for (const leaf of bad) states[leaf] = FAILED
    },
    hasChunk: chunk => chunks.has(chunk),
  }
}

/** Reads the ends of the leaves in these ranges, except for chunks that are known already. */
export async function readEnds(
  { canvases }: Pick<System, 'canvases'>,
  canvas: LoadedCanvas,
  known: KnownEnds,
  ranges: ReadonlyArray<{ readonly from: number; readonly to: number }>,
): Promise<void> {
  const chunks = [...new Set(ranges.flatMap(chunksOf))].filter(chunk => !known.hasChunk(chunk))
  const read = await canvases.ends(canvas, chunks)
  for (const [chunk, ends] of read) known.add(chunk, ends)
}

/** Reads the ends of all members of a canvas. */
export async function readAllEnds(
  system: Pick<System, 'canvases'>,
  canvas: LoadedCanvas,
): Promise<KnownEnds> {
  const known = createKnownEnds(canvas)
  await readEnds(system, canvas, known, [{ from: 0, to: canvas.leaves }])
  return known
}
