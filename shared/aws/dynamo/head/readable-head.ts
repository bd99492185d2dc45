import { BatonError } from '../../../core/errors.ts'
import { splitTaskId } from '../../../core/task/task.ts'
import { HEAD_SORT_KEY } from '../keys.ts'
import type { Item } from '../stored-form.ts'

const TEXTS = ['pk', 'born', 'op'] as const
const NUMBERS = ['v', 'rev', 'due', 'created', 'updated'] as const

/** Maps whose keys are fences, and the members that each of their values has. */
const RUN_MAPS = {
  live: { texts: ['by'], numbers: ['at', 'lease'] },
  ended: { texts: ['by', 'state'], numbers: ['at', 'end'] },
} as const

const FENCE = /^[1-9]\d{0,15}$/

/**
 * The fault in the form of a head; undefined when there is none. Heads of every version have these attributes. So another
 * program wrote an item without them, or a process whose objects another library had changed.
 */
export function problemOfHead(item: Item): string | undefined {
  if (item.sk !== HEAD_SORT_KEY) return `its sort key is ${JSON.stringify(item.sk)}`
  const odd = oddMember(item, TEXTS, NUMBERS)
  if (odd !== undefined) return `its attribute ${odd} is ${shown(item[odd])}`
  if (!splitTaskId(item.pk as string)) return 'its key is not the id of a task'
  if (!isBody(item.input)) return `its attribute input is ${shown(item.input)}`
  return problemOfRuns(item, 'live') ?? problemOfRuns(item, 'ended')
}

function problemOfRuns(item: Item, name: keyof typeof RUN_MAPS): string | undefined {
  const { texts, numbers } = RUN_MAPS[name]
  const map = item[name]
  if (map === undefined) return undefined
  if (!isMap(map)) return `its attribute ${name} is ${shown(map)}`
  const isOdd = ([fence, run]: [string, unknown]) =>
    !FENCE.test(fence) || !isMap(run) || oddMember(run, texts, numbers) !== undefined
  const odd = Object.entries(map).find(isOdd)
  return odd && `its map ${name} holds ${shown(odd[0])}: ${shown(odd[1])}, which is not a run`
}

/** Whether the value is a body: JSON text, or a reference to an item of its own. */
function isBody(value: unknown): boolean {
  return value === undefined || typeof value === 'string' || (isMap(value) && typeof value.ref === 'string')
}

function oddMember(item: Item, texts: readonly string[], numbers: readonly string[]): string | undefined {
  return (
    texts.find(name => typeof item[name] !== 'string') ?? numbers.find(name => !Number.isFinite(item[name]))
  )
}

function isMap(value: unknown): value is Item {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
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
