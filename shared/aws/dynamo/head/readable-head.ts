import { BatonError } from '../../../core/errors.ts'
import { splitTaskId } from '../../../core/task/task.ts'
import { isMap } from '../codecs.ts'
import { HEAD_SORT_KEY } from '../keys.ts'
import type { Item } from '../stored-form.ts'
import { HEAD } from './items.ts'
import { body, ENDED_RUN, LIVE_RUN } from './run-attributes.ts'

const RUN_MAPS = { live: LIVE_RUN, ended: ENDED_RUN } as const

const FENCE = /^[1-9]\d{0,15}$/

/**
 * The fault in the form of a head; undefined when there is none. Heads of every version have these attributes. So an item
 * without them was written by another program, or by a process in which a library had changed the built-in objects.
 */
export function problemOfHead(item: Item): string | undefined {
  if (item.sk !== HEAD_SORT_KEY) return `its sort key is ${JSON.stringify(item.sk)}`
  const odd = oddAttribute(item)
  if (odd !== undefined) return `its attribute ${odd} is ${shown(item[odd])}`
  if (!splitTaskId(item.pk as string)) return 'its key is not the id of a task'
  if (item.input !== undefined && !body.fits(item.input)) return `its attribute input is ${shown(item.input)}`
  return problemOfRuns(item, 'live') ?? problemOfRuns(item, 'ended')
}

function oddAttribute(item: Item): string | undefined {
  if (typeof item.pk !== 'string') return 'pk'
  return Number.isFinite(item.v) ? HEAD.oddAttribute(item) : 'v'
}

function problemOfRuns(item: Item, name: keyof typeof RUN_MAPS): string | undefined {
  const map = item[name]
  if (map === undefined) return undefined
  if (!isMap(map)) return `its attribute ${name} is ${shown(map)}`
  const odd = Object.entries(map).find(([fence, run]) => !FENCE.test(fence) || !RUN_MAPS[name].fits(run))
  return odd && `its map ${name} holds ${shown(odd[0])}: ${shown(odd[1])}, which is not a run`
}

const SHOWN_CHARACTERS_MAX = 100

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? 'missing').slice(0, SHOWN_CHARACTERS_MAX).toWellFormed()
}

/** The error for an unreadable item. The cause is only for the log, because it may show the data of the task. */
export function unreadable(item: Item, why: string, cause?: unknown): BatonError {
  const id = typeof item.pk === 'string' ? item.pk : shown(item.pk)
  const message = `the stored form of ${id} cannot be read: ${why}; DELETE removes the task`
  return new BatonError('unreadable', message, cause === undefined ? {} : { cause })
}
