import type { Decision } from '../../core/change.ts'
import type { NamedLimit, WaitRefusal } from '../../core/limits/limits.ts'
import { fieldValue, isInLine, joinLine, limitName, limitValue } from '../../core/limits/limits.ts'
import type { Line, StoredLineNote } from '../../core/limits/line.ts'
import { ADMITTED_AHEAD_MS, closedNote, firstLookAt, isServed, SENT_MS } from '../../core/limits/line.ts'
import { isSamePiece, isTakenInOrder, rulingTypes, workOf } from '../../core/task/piece.ts'
import { isTargeted, type Task } from '../../core/task/task.ts'
import { mayDoWork } from '../../core/types/other-types.ts'
import type { ConcurrencyLimit, RateLimit, TaskType, TypeLimits } from '../../core/types/task-type.ts'
import { BatonError } from '../../core/values/values.ts'
import type { SendFailure } from '../../ports/messages.ts'
import { bodyValue } from '../kernel/heads.ts'
import { type Patience, transact } from '../kernel/kernel.ts'
import type { Known, Moment, System } from '../kernel/system.ts'
import { createTimedCache, isWithin, processMemory } from '../kernel/system.ts'
import { cachedType, TYPE_CACHE_MS } from '../types/type-cache.ts'

/** How tasks join the line of a limit, and how processes know that tasks wait there. */

const NOTE_CACHE_MS = 1_000
/** The series of looks lives at least this long after the last task has left the line. A join that took longer notes the line again. */
const JOIN_MS_MAX = 10_000
const ROUNDS_MAX = 20
const ROUND_PAUSE_MS_MAX = 40

/** The notes of lines as this process read them within the last second, so that thousands of newcomers do not read one item. */
const notesOf = processMemory(() => createTimedCache<StoredLineNote>(NOTE_CACHE_MS))

function nameOf({ kind, limit }: Line): string {
  return `${kind} ${limit}`
}

/** The note of a line as it was within the last second. */
export function cachedNote(
  system: Pick<System, 'limits' | 'clock'>,
  line: Line,
): Promise<Known<StoredLineNote>> {
  return notesOf(system.limits).get(system.clock, nameOf(line), () => system.limits.line(line))
}

export function forgetNote({ limits }: Pick<System, 'limits'>, line: Line): void {
  notesOf(limits).forget(nameOf(line))
}

/** Whether tasks wait in the line, so that a newcomer joins it, and looks serve it. */
export async function isLineClosed(system: Pick<System, 'limits' | 'clock'>, line: Line): Promise<boolean> {
  const { note } = (await cachedNote(system, line)).value
  return note?.isClosed === true && isServed(note, system.clock.now())
}

/**
 * Whether the ready place of the task's type is the line of the limit: workers take the type's tasks in order, and the limit counts all of
 * them. A task there waits without a record. Tasks that list workers have no place of their own to wait in.
 */
export function waitsReady(task: Task, { limit }: Line): boolean {
  return limit === workOf(task).type && isTakenInOrder(task) && !isTargeted(task)
}

/** Whether the task waits in its ready place behind a limit, and looks at the limit serve it. */
export async function isBehindLine(system: System, task: Task): Promise<boolean> {
  const { type } = workOf(task)
  const limits = (await cachedType(system, type)).value?.configuration.limits ?? {}
  const lines: Line[] = [
    ...(limits.rate ? [{ kind: 'slot', limit: type } as const] : []),
    ...(limits.concurrency ? [{ kind: 'permit', limit: type } as const] : []),
  ]
  const closed = lines.filter(line => waitsReady(task, line)).map(line => isLineClosed(system, line))
  return (await Promise.all(closed)).some(Boolean)
}

/** Whether no look need serve the line for the task: HTTP workers ask for the tasks of a ready place again and again. */
export function isAskedForAgain(task: Task, line: Line): boolean {
  return workOf(task).kind === 'http' && waitsReady(task, line)
}

/**
 * Whether a look has just returned the task to its ready place for a slot that is seconds ahead. HTTP workers take only slots that are
 * free, so one of them may ask too early. The next one gets the task.
 */
function awaitsNearSlot({ clock }: System, task: Task, grantAt = Number.POSITIVE_INFINITY): boolean {
  const isJustAdmitted = task.operation === 'surface' && task.updatedAt + SENT_MS > clock.now()
  return isJustAdmitted && workOf(task).kind === 'http' && grantAt <= clock.now() + ADMITTED_AHEAD_MS
}

/**
 * Makes a task wait in the line of a limit that refused it. The note comes before the wait, so a line with tasks always has looks. A task
 * that is in the line already is left as it is, and so is a task that has moved on meanwhile.
 */
export async function holdBack(
  system: System,
  task: Task,
  line: Line,
  { grantAt, patience }: { readonly grantAt: number | undefined; readonly patience: Patience | undefined },
): Promise<void> {
  if (isInLine(task, line) || isAskedForAgain(task, line) || awaitsNearSlot(system, task, grantAt)) return
  if (!(await isLineClosed(system, line))) await noteLine(system, line, { grantAt })
  if (waitsReady(task, line)) return
  const { readAt } = await cachedNote(system, line)
  await oneAtATime(system, 'waits')
  const decide = (current: Task | undefined): Decision<WaitRefusal> =>
    current && isSamePiece(task, current)
      ? joinLine(current, line, system.clock.now())
      : { ok: false, reason: 'finished' }
  await transact(system, task, decide, patience)
  if (!isWithin(system.clock, readAt, JOIN_MS_MAX)) await noteLine(system, line, { grantAt })
}

/** Sends looks at lines whose limits have changed. */
export function lookAtLines(
  { messages }: Pick<System, 'messages'>,
  lines: readonly Line[],
): Promise<SendFailure[]> {
  const distinct = new Map(lines.map(line => [nameOf(line), line]))
  return messages.lookAtLimits([...distinct.values()].map(line => ({ line, delaySeconds: 0 })))
}

/**
 * Notes that tasks wait in the line, unless a note says so already and looks serve the line. The planner sends the first look when the
 * table's stream shows it the note. `grantAt`: when the limit can grant the next start, if that is known. A repair leaves a line that is
 * looked at as it is.
 *
 * @throws BatonError `contended` when other processes were faster at every try.
 */
export async function noteLine(
  system: System,
  line: Line,
  { grantAt, isRepair = false }: { readonly grantAt?: number | undefined; readonly isRepair?: boolean } = {},
): Promise<void> {
  forgetNote(system, line)
  let stored = (await cachedNote(system, line)).value
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const now = system.clock.now()
    if (isRepair && stored.note && isServed(stored.note, now)) return
    const note = closedNote(stored.note, firstLookAt(grantAt, now), now)
    if (!note) return
    const newer = await system.limits.putLine(line, note, stored, { isNoted: true })
    forgetNote(system, line)
    if (!newer) return
    stored = newer
    await system.clock.sleep(ROUND_PAUSE_MS_MAX * system.chance.fraction())
  }
  throw new BatonError('contended', `the line of ${line.limit} was not noted: other processes were faster`)
}

/** The callers of one process that wait to continue. `isServed` is true while `serve` lets them continue. */
type WaitList = { readonly starts: Array<() => void>; readonly waits: Array<() => void>; isServed: boolean }

const waitListOf = processMemory((): WaitList => ({ starts: [], waits: [], isServed: false }))

/**
 * Resolves for one caller at a time, so that timers fire between two of them. Without this, eight or fifty claims that begin at
 * one moment keep a process busy for longer than a slot lasts. A start goes ahead of a task that only records that it waits.
 */
export function oneAtATime(
  { limits, clock }: Pick<System, 'limits' | 'clock'>,
  kind: 'starts' | 'waits',
): Promise<void> {
  const list = waitListOf(limits)
  const reached = new Promise<void>(resolve => list[kind].push(resolve))
  if (!list.isServed) void serve(list, clock)
  return reached
}

async function serve(list: WaitList, clock: System['clock']): Promise<void> {
  list.isServed = true
  for (let next = nextIn(list); next; next = nextIn(list)) {
    next()
    await clock.sleep(0)
  }
  list.isServed = false
}

function nextIn({ starts, waits }: WaitList): (() => void) | undefined {
  return starts.shift() ?? waits.shift()
}

/** A claim reads its types again before its run begins, if they were read longer ago than `TYPE_CACHE_MS` plus this: see `PAUSE_ACK_MS`. */
const CLAIM_MS_MAX = 400

/** The limits, the pause and the bound that apply to a task, from its types. */
export type LimitRules = {
  readonly isPaused: boolean
  /** Whether deployment allows the work that the head names. */
  readonly isAllowed: boolean
  readonly rates: readonly NamedLimit<RateLimit>[]
  readonly concurrencies: readonly NamedLimit<ConcurrencyLimit>[]
  /** For each of the types, a moment not after it was read. */
  readonly readAt: readonly Moment[]
}

/** The rules of the task's own type and, for a flow, of the type that does its present step. They are at most one second old. */
export async function limitRulesOf(system: System, task: Task): Promise<LimitRules> {
  const known = await Promise.all(rulingTypes(task).map(name => cachedType(system, name)))
  const types = known.flatMap(({ value }) => value ?? [])
  return {
    isPaused: types.some(({ paused }) => paused),
    isAllowed: mayDoWork(task, types),
    rates: await limitedBy(system, task, types, ({ rate }) => rate),
    concurrencies: await limitedBy(system, task, types, ({ concurrency }) => concurrency),
    readAt: known.map(({ readAt }) => readAt),
  }
}

/** Whether any limit counts the task. */
export function isLimited({ rates, concurrencies }: LimitRules): boolean {
  return rates.length + concurrencies.length > 0
}

/** The lines of the limits that count the task. */
export function linesOf({ rates, concurrencies }: LimitRules): Line[] {
  return [
    ...rates.map(({ name }) => ({ kind: 'slot' as const, limit: name })),
    ...concurrencies.map(({ name }) => ({ kind: 'permit' as const, limit: name })),
  ]
}

/** Whether the rules are so fresh that no pause can have been acknowledged since they were read. */
export function areRulesFresh(
  { clock }: Pick<System, 'clock'>,
  { readAt }: Pick<LimitRules, 'readAt'>,
): boolean {
  return readAt.every(moment => isWithin(clock, moment, TYPE_CACHE_MS + CLAIM_MS_MAX))
}

async function limitedBy<Limit extends { readonly key?: string }>(
  system: System,
  task: Task,
  types: readonly TaskType[],
  pick: (limits: TypeLimits) => Limit | undefined,
): Promise<NamedLimit<Limit>[]> {
  const limited = types.map(async ({ type, configuration: { limits = {} } }) => {
    const limit = pick(limits)
    if (!limit) return []
    const value = limit.key === undefined ? undefined : await valueIn(system, task, limit.key)
    return [{ name: limitName(type, limit.key, value), limit }]
  })
  return (await Promise.all(limited)).flat()
}

/** The task's value of a limit's key. It reads the input only when the limit was set after the publish of the task. */
async function valueIn(system: System, task: Task, key: string): Promise<string | undefined> {
  const found = limitValue(task, key)
  if (found.known || !task.input) return found.known ? found.value : undefined
  return fieldValue(await bodyValue(system, task.id, task.input), key)
}
