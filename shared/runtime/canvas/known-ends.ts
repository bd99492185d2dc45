import { CHUNK_LEAVES, chunksOf } from '../../core/canvas/chunks.ts'
import type { Knowledge } from '../../core/canvas/standing.ts'
import type { End } from '../../core/task/canvas-state.ts'
import type { CanvasEnds } from '../../ports/stores.ts'
import type { System } from '../kernel/system.ts'
import type { Canvas } from './canvas.ts'

const NAMES = ['unknown', 'open', 'succeeded', 'failed'] as const
const OPEN = 1
const SUCCEEDED = 2
const FAILED = 3

/** What is known of the ends of a canvas's members, chunk by chunk. */
export type KnownEnds = {
  readonly standingOf: Knowledge
  /** Undefined where a leaf has not ended, or nothing is known of it. */
  endOf(leaf: number): End | undefined
  add(chunk: number, ends: CanvasEnds): void
  hasChunk(chunk: number): boolean
}

export function createKnownEnds({ leaves }: Canvas): KnownEnds {
  const states = new Uint8Array(leaves)
  const chunks = new Set<number>()
  const know: Knowledge = leaf => NAMES[states[leaf] ?? 0] ?? 'unknown'
  return {
    standingOf: know,
    endOf: leaf => {
      const state = know(leaf)
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

/** Reads the ends of the leaves in these ranges, as far as they are not known yet. */
export async function readEnds(
  { canvases }: Pick<System, 'canvases'>,
  canvas: Canvas,
  known: KnownEnds,
  ranges: ReadonlyArray<{ readonly from: number; readonly to: number }>,
): Promise<void> {
  const chunks = [...new Set(ranges.flatMap(chunksOf))].filter(chunk => !known.hasChunk(chunk))
  const read = await canvases.ends(canvas, chunks)
  for (const [chunk, ends] of read) known.add(chunk, ends)
}

/** All ends of a canvas's members. */
export async function readAllEnds(system: Pick<System, 'canvases'>, canvas: Canvas): Promise<KnownEnds> {
  const known = createKnownEnds(canvas)
  await readEnds(system, canvas, known, [{ from: 0, to: canvas.leaves }])
  return known
}
