import { DEFAULT_SHARDS } from '../../core/bounds.ts'
import { nodeAt } from '../../core/canvas/tree.ts'
import { isGone } from '../../core/publish.ts'
import { type CANVAS_FORMS, CANVAS_STATUSES } from '../../core/states.ts'
import { isCanvas } from '../../core/task/head.ts'
import { CANVAS_TYPE, type Canvas, type PresentCanvas } from '../../core/task/head-fields.ts'
import { sideBySide } from '../kernel/heads.ts'
import type { System } from '../kernel/system.ts'
import { type HeadPage, type ListPage, listHeads } from '../list/list-heads.ts'
import { viewRange } from '../place/ready.ts'
import { canvasOf, readAllEnds } from './canvas.ts'

type CanvasStatus = (typeof CANVAS_STATUSES)[number]

/** A canvas in a list. `ended` counts the members that have ended; undefined once the canvas itself has. */
type ListedCanvas = {
  readonly head: PresentCanvas
  readonly status: CanvasStatus
  readonly form: (typeof CANVAS_FORMS)[number]
  readonly ended: number | undefined
}

const CANVASES_AT_ONCE_MAX = 10

/**
 * Lists one page of canvases, the latest first: running ones by the time of their publish, others by their end. It reads the tree of each
 * canvas that the process does not know yet, and the counted ends of running ones.
 */
export async function listCanvases(
  system: System,
  { statuses, ...page }: ListPage & { readonly statuses: readonly CanvasStatus[] },
): Promise<HeadPage<ListedCanvas>> {
  const wanted = statuses.length === 0 ? CANVAS_STATUSES : [...new Set(statuses)].sort()
  const shards = [...Array(DEFAULT_SHARDS).keys()]
  const ranges = wanted.flatMap(status =>
    shards.map(shard => viewRange(CANVAS_TYPE, status === 'running' ? 'open' : status, shard)),
  )
  const list = { name: `canvases ${wanted.join()}`, ranges, descending: true, is: isCanvas }
  const found = await listHeads(system, list, page)
  if (!found.ok) return found
  const listed = await sideBySide(found.heads, CANVASES_AT_ONCE_MAX, head => described(system, head))
  return { ...found, heads: listed.flatMap(one => (one && wanted.includes(one.status) ? [one] : [])) }
}

async function described(system: System, head: Canvas): Promise<ListedCanvas | undefined> {
  const canvas = head.canvas && !isGone(head, system.clock.now()) ? await canvasOf(system, head) : undefined
  if (!canvas || !head.canvas) return undefined
  const { kind } = nodeAt(canvas.tree, 0)
  const form = kind === 'leaf' ? 'chain' : kind
  if (head.state !== 'open') return { head, status: head.state, form, ended: undefined }
  const known = await readAllEnds(system, canvas)
  const ended = canvas.types.filter((_type, leaf) => known.endOf(leaf) !== undefined).length
  return { head, status: 'running', form, ended }
}
