import type { Task } from '../../../../shared/core/task/task.ts'
import { allJobs } from '../../jobs-in.ts'
import type { Callbacks, Job, Step } from '../../scenario.ts'
import type { Invariant, Write } from '../invariant.ts'
import { isCreation, nonceOf } from './tags.ts'

type When = keyof Callbacks

/** The task that owns a callback, and for which end. */
type CallbackOwner = { readonly parent: number; readonly when: When }

/** Promises about callbacks. */
export const CALLBACK_INVARIANTS: readonly Invariant[] = [
  {
    name: 'a callback is published once for each end of its task, and never before that end is written',
    watch: ({ steps }) => {
      const places = callbackOwnersIn(steps)
      const ends = createCount()
      const children = createCount()
      return {
        on: event => {
          if (event.what !== 'write') return undefined
          const { after } = event
          const end = endIn(event)
          if (end) ends.plus(end)
          const call = callIn(event, places)
          if (!call) return undefined
          const times = ends.of(call.of)
          return children.plus(`${call.of} ${call.nonce}`) > times
            ? `${after.id} is published once more than the ${times} such ends of ${after.parentId}`
            : undefined
        },
      }
    },
  },
  {
    name: 'an ended task shows that it owes callbacks until each of them is published, or the task is removed',
    watch: ({ steps }) => {
      const owedCallbacks = createOwedCallbacks(callbackOwnersIn(steps))
      return {
        on: event => {
          if (event.what !== 'write') return undefined
          owedCallbacks.see(event)
          const end = endNotShown(event)
          return end && owedCallbacks.unpublished(of => of === end)
        },
        // A deleted head shows nothing.
        atEnd: () => owedCallbacks.unpublished(() => true),
      }
    },
  },
]

/** The callbacks that the ends of tasks owe, and which of them were published. */
function createOwedCallbacks(places: ReadonlyMap<number, CallbackOwner>) {
  const owed = createCount()
  const children = createCount()
  return {
    see: (write: Write) => {
      const { before, after } = write
      const end = endIn(write)
      if (end) owed.plus(end)
      if (before?.owes && after.state === 'removed') owed.plus(nameOfEnd(before), -1)
      const call = callIn(write, places)
      if (call) children.plus(`${call.of} ${call.nonce}`)
    },
    /** The first callback of these ends that was published less often than it was owed. */
    unpublished: (isAsked: (end: string) => boolean): string | undefined => {
      const ends = owed.all().filter(([end]) => isAsked(end))
      for (const [nonce, { parent, when }] of places) {
        const lost = ends.find(
          ([of, times]) => isOf(of, parent, when) && children.of(`${of} ${nonce}`) < times,
        )
        if (lost)
          return `callback ${nonce} of the end '${lost[0]}' is owed ${lost[1]} times, but was published ${children.of(`${lost[0]} ${nonce}`)} times`
      }
      return undefined
    },
  }
}

/** The end whose owed callbacks this write does not show, or no longer shows. */
function endNotShown(write: Write): string | undefined {
  const { before, after } = write
  const isShown = after.owes === true || after.state === 'removed'
  if (isShown) return undefined
  return endIn(write) ?? (before?.owes ? nameOfEnd(before) : undefined)
}

function createCount() {
  const counts = new Map<string, number>()
  return {
    plus: (name: string, more = 1) => {
      const next = (counts.get(name) ?? 0) + more
      counts.set(name, next)
      return next
    },
    of: (name: string) => counts.get(name) ?? 0,
    all: () => [...counts],
  }
}

/**
 * The name of an end: the task's id, its nonce, and which callbacks. Ends of one name owe the same callbacks.
 */
function nameOfEnd(task: Task): string {
  return `${task.id} ${nonceOf(task)} ${task.state === 'succeeded' ? 'onSuccess' : 'onError'}`
}

function isOf(end: string, parent: number, when: When): boolean {
  return end.endsWith(` ${parent} ${when}`)
}

/** The end that a write records, if that kind of end may have callbacks. */
function endIn({ before, after }: Write): string | undefined {
  const isEnded = after.state === 'succeeded' || after.state === 'failed'
  const isNow = before?.state === 'open' || after.operation === 'resume'
  return isEnded && isNow ? nameOfEnd(after) : undefined
}

/** The end whose callback a write publishes. */
function callIn(
  { before, after }: Write,
  places: ReadonlyMap<number, CallbackOwner>,
): { readonly nonce: number; readonly of: string } | undefined {
  const nonce = nonceOf(after)
  const place = nonce === undefined ? undefined : places.get(nonce)
  if (!place || nonce === undefined || !isCreation(before, after)) return undefined
  return { nonce, of: `${after.parentId} ${place.parent} ${place.when}` }
}

/** Whether the callback publishes a task of its own. See `keyed-callbacks.ts` for the others. */
function isUnkeyed({ key }: Job): boolean {
  return key === undefined
}

/** The owner of every callback without a key, by the callback's nonce. */
export function callbackOwnersIn(steps: readonly Step[]): Map<number, CallbackOwner> {
  const parents = [...steps.filter(step => step.do === 'publish'), ...allJobs(steps)]
  const places = new Map<number, CallbackOwner>()
  for (const { nonce: parent, onSuccess = [], onError = [] } of parents) {
    for (const { nonce } of onSuccess.filter(isUnkeyed)) places.set(nonce, { parent, when: 'onSuccess' })
    for (const { nonce } of onError.filter(isUnkeyed)) places.set(nonce, { parent, when: 'onError' })
  }
  return places
}
