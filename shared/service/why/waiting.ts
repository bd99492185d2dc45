import { pathOf } from '../../api/endpoints.ts'
import { hasOthersAhead, lastRunOf } from '../../core/status.ts'
import { attempts, pieceOf, workOf } from '../../core/task/piece.ts'
import { successes, typeOfLimit } from '../../core/task/task.ts'
import { mayCall, notAllowedText } from '../../core/types/other-types.ts'
import { servingType } from '../../core/types/task-type.ts'
import { defined } from '../../core/values/values.ts'
import { nextOwnRetryAt } from '../../core/worker.ts'
import type { Explained, SentenceFacts, WhyLimit } from './words.ts'
import { countText, errorText, namesText, spanText, timeText } from './words.ts'

/** The sentences about tasks that wait for a time, for an operator, for a limit, or behind other tasks. */

/** The holders of permits that an answer lists. */
const HOLDERS_MAX = 10
const BEFORE_MAX = 100

export function explainDue({ task, now, path }: SentenceFacts): Explained {
  return {
    sentence: `${task.id} waits for its due time, ${timeText(task.dueAt, now)}.`,
    next: `There is nothing to do. PATCH ${path} with dueAt or delayMs changes the time.`,
    since: task.updatedAt,
    until: task.dueAt,
  }
}

export function explainRetry({ task, now, path, lastRun = lastRunOf(task) }: SentenceFacts): Explained {
  const { left } = attempts(task)
  const failed = lastRun
    ? ` after a run of ${lastRun.workerId} ${lastRun.state === 'released' ? 'was given back' : 'failed'} at ${timeText(lastRun.endedAt, now)}`
    : ''
  const error = lastRun?.error ? ` with ${errorText(lastRun.error)}` : ''
  const until = nextOwnRetryAt(task) ?? task.dueAt
  return {
    sentence: `${task.id} waits for its retry at ${timeText(until, now)}${failed}${error}; ${countText(left, 'run is', 'runs are')} left.`,
    next: `${lastRun?.state === 'released' ? 'There is nothing to do.' : 'Repair the cause if it remains.'} PATCH ${path} with {"delayMs": 0} retries now; POST ${path}/cancel stops it.`,
    until,
    ...defined({ since: lastRun?.endedAt, log: lastRun?.log }),
  }
}

/** Its last run was lost: the process of its handler ended, or lost its connection, and reported nothing. */
export function explainCrashing(facts: SentenceFacts): Explained {
  const { task, now, path, lastRun = lastRunOf(task) } = facts
  const lost = Object.values(task.ended).filter(({ state, past }) => state === 'lost' && !past).length
  const cause = lastRun ? ` The process of ${lastRun.workerId} ended without a report` : ' A process ended'
  const when = lastRun ? `, which was recorded at ${timeText(lastRun.endedAt, now)}` : ''
  const again = task.dueAt > now ? `it runs again at ${timeText(task.dueAt, now)}` : 'it may run again now'
  const { left } = attempts(task)
  const ahead = isBehindOthers(facts) ? `; before it, ${aheadText(facts)}` : ''
  return {
    sentence: `${task.id} waits after ${countText(lost, 'lost run')}:${cause}${when}; ${again}, and ${countText(left, 'run is', 'runs are')} left${ahead}.`,
    next: `Look for the crash in the log of the handler: too little memory, a timeout, or a process that exits. POST ${path}/cancel stops the task.`,
    ...defined({
      since: lastRun?.endedAt,
      until: task.dueAt > now ? task.dueAt : undefined,
      log: lastRun?.log,
      holder: lastRun?.workerId,
    }),
  }
}

/** What is known of a queue is read only for a task that is ready. */
function isBehindOthers({ messages = 0, before = 0 }: SentenceFacts): boolean {
  return hasOthersAhead({ messages, before })
}

/** A past loss does not explain the present wait, but helps the reader. */
function lossText({ task, now }: SentenceFacts): string {
  const last = lastRunOf(task)
  if (last?.state !== 'lost') return ''
  return `; its last run, of ${last.workerId}, was lost at ${timeText(last.endedAt, now)}`
}

export function explainNotAllowed({ task, types, path }: SentenceFacts): Explained {
  const { type, kind } = workOf(task)
  const own = types.get(task.type)
  const isStep = own && !mayCall(own, type)
  const cause = isStep
    ? `the type of its step ${pieceOf(task) ?? ''} ${notAllowedText(own, type)}`
    : `it is stored with kind ${kind}, and its type ${type} is of another kind`
  return {
    sentence: `${task.id} does not run: ${cause}.`,
    next: `Deploy the change, or POST ${path}/cancel stops the task.`,
    since: Math.max(task.dueAt, task.updatedAt),
  }
}

export function explainPaused(facts: SentenceFacts): Explained {
  const { task } = facts
  return pausedAs(facts, task.type, `its type ${task.type} is paused`)
}

export function explainStepPaused(facts: SentenceFacts): Explained {
  const { task } = facts
  const { type } = workOf(task)
  return pausedAs(facts, type, `its step ${pieceOf(task) ?? type} is of type ${type}, which is paused`)
}

function pausedAs({ task, now, types }: SentenceFacts, type: string, cause: string): Explained {
  const pause = types.get(type)?.operations?.findLast(({ what }) => what === 'pause')
  const byWhom = pause ? `, by ${pause.by} since ${timeText(pause.at, now)}` : ''
  return {
    sentence: `${task.id} waits because ${cause}${byWhom}.`,
    next: `POST ${pathOf('getType', type)}/resume lets its tasks run.`,
    ...defined({ since: pause?.at }),
  }
}

export function explainRate({
  task,
  now,
  types,
  nextStartAt: until,
  limit: name,
  before,
}: SentenceFacts): Explained {
  const limit = rateOf(name ?? workOf(task).type, types)
  const text =
    limit.max === undefined || limit.perMs === undefined
      ? limit.name
      : `${countText(limit.max, 'start')} per ${spanText(limit.perMs)} of ${limit.name}`
  const next = until === undefined ? '' : `; the next start is free at ${timeText(until, now)}`
  return {
    sentence: `${task.id} waits under the rate limit of ${text}${beforeText(before)}${next}.`,
    next: `There is nothing to do. PUT ${pathOf('getType', typeOfLimit(limit.name))} with a larger limit lets more tasks start.`,
    limit,
    ...defined({ until }),
  }
}

function rateOf(name: string, types: SentenceFacts['types']): WhyLimit {
  const rate = types.get(typeOfLimit(name))?.configuration.limits?.rate
  return { kind: 'rate', name, ...(rate && { max: rate.limit, perMs: rate.perMs }) }
}

/** How many tasks come before it in the line of the limit. */
function beforeText(before: number | undefined): string {
  if (before === undefined) return ''
  if (before === 0) return ', first in the line'
  const count = before >= BEFORE_MAX ? `at least ${BEFORE_MAX} tasks` : countText(before, 'task')
  return `, behind ${count}`
}

/** The holders hold permits, so they run. The wait ends when one of them ends. */
export function explainPermit({ task, now, types, permits, limit, before }: SentenceFacts): Explained {
  const name = limit ?? workOf(task).type
  const type = typeOfLimit(name)
  const max = types.get(type)?.configuration.limits?.concurrency?.max
  const holders = [...(permits?.holders ?? [])].sort((a, b) => a.since - b.since)
  const [oldest] = holders
  const held = oldest
    ? `; held by ${namesText(holders.map(({ taskId }) => taskId))}, the oldest since ${timeText(oldest.since, now)}`
    : '; none is held any more, and the next look at the limit admits it'
  const one = max === undefined ? 'a permit' : `one of ${countText(max, 'permit')}`
  const ending = oldest ? `, or end a holder: POST ${pathOf('get', oldest.taskId)}/cancel` : ''
  return {
    sentence: `${task.id} waits for ${one} of ${name}${beforeText(before)}${held}.`,
    next: `Wait, or raise max with PUT ${pathOf('getType', type)}${ending}.`,
    limit: {
      kind: 'concurrency',
      name,
      held: holders.length,
      ...defined({ max }),
      holders: holders.slice(0, HOLDERS_MAX).map(({ taskId, since }) => ({ taskId, since })),
    },
    since: task.updatedAt,
  }
}

/** Messages, or tasks in the order of claims, are ahead of it. */
export function explainBacklog(facts: SentenceFacts): Explained {
  const { task, messages, before, oldestDueAt } = facts
  const type = queueTypeOf(facts)
  return {
    sentence: `${task.id} can be claimed, and waits behind others: ${aheadText(facts)}${lossText(facts)}.`,
    next: `There is nothing to do while workers keep up. Give ${type} more workers, or more maxConcurrency, if the number grows.`,
    since: task.dueAt,
    queue: { type, ...defined({ messages, before, oldestDueAt }) },
  }
}

function aheadText(facts: SentenceFacts): string {
  const { now, messages, before, oldestDueAt } = facts
  const type = queueTypeOf(facts)
  const oldest =
    oldestDueAt === undefined ? '' : `; the oldest open task was due at ${timeText(oldestDueAt, now)}`
  const ahead =
    before === undefined
      ? `about ${countText(messages ?? 0, 'message waits', 'messages wait')} in the queue of ${type}`
      : `at least ${countText(Math.min(before, BEFORE_MAX), 'task comes', 'tasks come')} before it among the tasks of ${type}`
  return ahead + oldest
}

export function explainDispatched(facts: SentenceFacts): Explained {
  const { task, now, messages, before } = facts
  const type = queueTypeOf(facts)
  const done = successes(task).length
  const part =
    done > 0 ? `, after ${countText(done, 'success', 'successes')} of ${task.options.concurrency}` : ''
  return {
    sentence: `${task.id} can be claimed since ${timeText(Math.max(task.dueAt, task.updatedAt), now)}${part}, and nothing is ahead of it: a worker of ${type} takes it next.`,
    next: 'There is nothing to do. Baton sends a lost message again within two minutes.',
    since: Math.max(task.dueAt, task.updatedAt),
    queue: { type, ...defined({ messages, before }) },
  }
}

/** Nothing delays it, and no message has helped for 15 minutes; or its run is dead, and nothing has recorded that. */
export function explainStuck(facts: SentenceFacts): Explained {
  const { task, now } = facts
  const type = queueTypeOf(facts)
  const [run] = Object.values(task.live)
  const what = run
    ? `the lease of ${run.workerId} ended at ${timeText(run.leaseUntil, now)}, and nothing has recorded the loss`
    : `a worker of ${type} could take it since ${timeText(Math.max(task.dueAt, task.updatedAt), now)}, and none has`
  return {
    sentence: `${task.id} is stuck: ${what}${lossText(facts)}.`,
    next: 'Read the log of the handler, then the dead letters of its queue, then the errors of the waker; docs/operations.md says more under "Stuck tasks".',
    since: Math.max(task.dueAt, task.updatedAt),
    ...defined({ holder: run?.workerId }),
  }
}

/** The message that it waits for was given up. The sweeper sends another one, less and less often. */
export function explainDeadLettered(facts: SentenceFacts): Explained {
  const { task, now, lostMessage } = facts
  const type = queueTypeOf(facts)
  const [run] = Object.values(task.live)
  const since = Math.max(task.dueAt, task.updatedAt)
  const what =
    lostMessage?.kind === 'look'
      ? `the message to look at ${run ? `it when the lease of ${run.workerId} ended` : 'it'}`
      : `the message that announces it to workers of ${type}`
  const deliveries = lostMessage
    ? `, after ${countText(lostMessage.receives, 'delivery', 'deliveries')}, before ${timeText(lostMessage.at, now)}`
    : ''
  const reader =
    lostMessage?.kind === 'look' ? 'the errors of the waker' : `the log of the handler of ${type}`
  const id = lostMessage?.letterId ?? ''
  return {
    sentence: `${task.id} waits since ${timeText(since, now)}: ${what} was given up${deliveries}; the sweeper sends another one within some minutes.`,
    next: `Read ${reader}: its process does not start, or ends early. Then POST /v1/dead-letters/replay with {"ids": ["${id}"]} sends the message again.`,
    since,
    deadLetterId: id,
  }
}

/** The type whose queue, or whose ready place, leads workers to the task. */
function queueTypeOf({ task }: SentenceFacts): string {
  const { type, kind } = workOf(task)
  return servingType(type, kind)
}
