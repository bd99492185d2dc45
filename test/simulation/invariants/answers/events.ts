import type { BatonEvent } from '../../../../shared/core/events/events.ts'
import type { EventType } from '../../../../shared/core/states.ts'
import { endedRuns, liveRuns, successes } from '../../../../shared/core/task/task.ts'
import type { SeenHead } from '../../world/seen-head.ts'
import type { Invariant, Write } from '../invariant.ts'

/** What a change of a head must or may be published as. */
type Expected = {
  readonly type: EventType
  readonly isRequired: boolean
  /** The run that the event must name. */
  readonly runId?: string | undefined
}

type Known = Expected & { readonly head: SeenHead; isPublished: boolean }

/** Promises about events: each change is published as what it is, once or more, and nothing else is. */
export const EVENT_INVARIANTS: readonly Invariant[] = [
  {
    name: 'each change of a task is published as its events, and no other event is published',
    watch: scenario => {
      const known = new Map<string, Known[]>()
      let areAllRead = true
      const expectEventsOf = (write: Write) => {
        const { after } = write
        for (const expected of expectedOf(write)) {
          const name = `${expected.type} ${after.id} ${after.updatedAt}`
          known.set(name, [...(known.get(name) ?? []), { ...expected, head: after, isPublished: false }])
        }
      }
      const missingEvent = () => {
        const missing = [...known.values()].flat().find(one => one.isRequired && !one.isPublished)
        return missing && `no ${missing.type} of ${missing.head.id} at ${missing.head.updatedAt} is published`
      }
      const judgeEvent = (event: BatonEvent) => {
        if (event.taskId === undefined) return undefined
        const all = known.get(`${event.type} ${event.taskId} ${event.at}`) ?? []
        const fitting = all.filter(one => fits(event, one))
        for (const one of fitting) one.isPublished = true
        return fitting.length > 0
          ? undefined
          : `${JSON.stringify(event)} is published${all.length > 0 ? ' with wrong members' : ''}`
      }
      return {
        on: event => {
          if (event.what === 'changes-lost') areAllRead = false
          if (event.what === 'write') expectEventsOf(event)
          if (event.what === 'events') return event.events.map(judgeEvent).find(text => text !== undefined)
          const isJudged = event.what === 'at-rest' && areAllRead && scenario.trial !== 'faults'
          return isJudged ? missingEvent() : undefined
        },
      }
    },
  },
]

function fits({ type, runId, error }: BatonEvent, { head, ...expected }: Known): boolean {
  // A crowd's last success and the end of its task are two writes, often of the same time.
  if (runId !== expected.runId && head.options.concurrency === 1) return false
  const isOfFailure = type === 'task.failed' || type === 'canvas.failed'
  return !isOfFailure || (error?.name === head.error?.name && error?.message === head.error?.message)
}

function expectedOf(write: Write): Expected[] {
  const { before, after } = write
  if (after.state === 'removed') return []
  if (after.schedule) return after.operation === 'tick' ? [{ type: 'schedule.ticked', isRequired: true }] : []
  const isBorn =
    !before || before.born !== after.born || (before.state !== 'open' && after.operation === 'restart')
  if (after.canvas) return ofCanvas(write, isBorn)
  return [
    ...(isBorn || after.operation === 'restart'
      ? [{ type: 'task.published' as const, isRequired: isBorn && after.state === 'open' }]
      : []),
    ...ofRuns(write),
    ...ofEnd(write, isBorn),
    ...(isClaimable(after) && mayBeReady(write)
      ? [{ type: 'task.ready' as const, isRequired: becameReady(write, isBorn) }]
      : []),
  ]
}

function ofCanvas({ before, after }: Write, isBorn: boolean): Expected[] {
  const { state } = after
  if (isBorn && state === 'open') return [{ type: 'canvas.published', isRequired: true }]
  const hasEnded = state !== 'open' && state !== 'removed' && (isBorn || before?.state === 'open')
  return hasEnded ? [{ type: `canvas.${state}`, isRequired: true }] : []
}

/** Runs that begin, and runs that are found lost. */
function ofRuns({ before, after }: Write): Expected[] {
  const isSame = before?.born === after.born
  const began = liveRuns(after).filter(({ fence }) => !isSame || !before?.live[fence])
  const lost = endedRuns(after).filter(
    ({ fence, state }) => state === 'lost' && isSame && before?.live[fence] !== undefined,
  )
  return [
    ...began.map(({ fence }) => ({
      type: 'task.running' as const,
      isRequired: true,
      runId: `${after.born}.${fence}`,
    })),
    ...lost.map(({ fence }) => ({
      type: 'task.lost' as const,
      isRequired: true,
      runId: `${after.born}.${fence}`,
    })),
  ]
}

function ofEnd({ before, after }: Write, isBorn: boolean): Expected[] {
  const { state } = after
  if (state === 'open' || state === 'removed') return []
  const owesNow = after.unpublished !== undefined && before?.unpublished === undefined
  if (!isBorn && before?.state !== 'open') {
    const mayEndAgain = after.operation === 'resume'
    return [
      ...(after.operation === 'owe' ? [{ type: 'task.needs-attention' as const, isRequired: owesNow }] : []),
      ...(mayEndAgain
        ? [
            { type: `task.${state}` as const, isRequired: false },
            { type: 'task.needs-attention' as const, isRequired: false },
          ]
        : []),
    ]
  }
  const isHalted = Object.values(after.flow?.steps ?? {}).some(step => step.state === 'undo-failed')
  const runId = endingRun({ before, after })
  return [
    { type: `task.${state}`, isRequired: true, runId },
    ...(isHalted || owesNow ? [{ type: 'task.needs-attention' as const, isRequired: true, runId }] : []),
  ]
}

/** The only run that ended with the task, if it was not given back or cancelled. */
function endingRun({ before, after }: Pick<Write, 'before' | 'after'>): string | undefined {
  if (before?.born !== after.born) return undefined
  // A claim that the store refuses is a run that was never live.
  const runs = new Set([...Object.keys(before.live), ...Object.keys(after.ended)])
  const ended = [...runs].filter(fence => {
    const state = after.ended[fence]?.state
    return !after.live[fence] && !before.ended[fence] && state !== 'cancelled' && state !== 'released'
  })
  return ended.length === 1 ? `${after.born}.${ended[0]}` : undefined
}

function isClaimable(head: SeenHead): boolean {
  const { state, dueAt, updatedAt, wait } = head
  const isTaken = liveRuns(head).length > 0 || successes(head).length >= head.options.concurrency
  return state === 'open' && !isTaken && dueAt <= updatedAt && wait === undefined
}

function endsRuns({ before, after }: Write): boolean {
  return Object.keys(before?.live ?? {}).some(fence => !after.live[fence])
}

/** A patch that leaves a waiting task as it is makes it no more ready than it was. */
function mayBeReady(write: Write): boolean {
  const { after } = write
  return after.operation !== 'patch' || endsRuns(write) || after.dueAt === after.updatedAt
}

/** Whether the change made the task ready. A task for several workers leaves the place of running tasks later. */
function becameReady(write: Write, isBorn: boolean): boolean {
  const { after } = write
  if (after.options.concurrency > 1) return false
  return isBorn || endsRuns(write) || (after.operation === 'patch' && after.dueAt === after.updatedAt)
}
