import type { ApiTask } from '../../shared/api/tasks.ts'
import type { Context } from '../system/with-system.ts'
import { relativeTime } from '../terminal/times.ts'
import type { Finding } from './finding.ts'

type Advice = readonly [text: string, next: string]

/** What each reason of an open task means, and what to do. */
const REASONS: Readonly<
  Record<NonNullable<ApiTask['statusReason']>, (task: ApiTask, now: number) => Advice>
> = {
  due: ({ dueAt }, now) => [`is due ${relativeTime(dueAt, now)}`, 'wait for it'],
  retry: ({ dueAt, id }, now) => [
    `is tried again ${relativeTime(dueAt, now)}`,
    `see its last error: baton get ${id}`,
  ],
  paused: ({ type, stepType }) => [
    'waits because its type or the type of its step is paused',
    [type, stepType].flatMap(one => (one === undefined ? [] : [`baton resume ${one}`])).join('; '),
  ],
  'rate-limit': ({ type }) => ['waits for a slot of a rate limit', `see the limit: baton types ${type}`],
  'concurrency-limit': ({ type }) => [
    'waits for a permit of a concurrency limit',
    `see the limit: baton types ${type}`,
  ],
  'target-worker': ({ options }) => [
    `waits for one of the workers ${options.workerIds.join(', ')}`,
    'see which are live: baton workers',
  ],
  'no-worker': () => ['waits for a worker', 'start one, and see which are live: baton workers'],
  'no-handler': ({ type }) => [`waits because no handler of ${type} is deployed`, 'deploy its handler'],
  'callbacks-owed': ({ id }) => [
    'owes callbacks that cannot be published',
    `baton retry ${id} --action retry-callbacks`,
  ],
}

/** Why a task does not run, or how it ended. */
export async function checkTask({ client, io }: Context, id: string): Promise<Finding[]> {
  const task = await client.get(id)
  return [...attentionOf(task), stateOf(task, io.now())]
}

function attentionOf({ id, needsAttention }: ApiTask): Finding[] {
  if (!needsAttention) return []
  const next = `repair it, and then baton retry ${id} --action retry-undo or skip-undo`
  return [
    {
      level: 'wrong',
      check: 'attention',
      text: `${id} needs an operator: an undo or a callback failed for good`,
      next,
    },
  ]
}

function stateOf(task: ApiTask, now: number): Finding {
  const { id, status, statusReason, error, finishedAt } = task
  const check = 'task'
  if (status === 'failed') {
    const why = error ? `: ${error.name}: ${error.message}` : ''
    return {
      level: 'wrong',
      check,
      text: `${id} failed ${relativeTime(finishedAt, now)}${why}`,
      next: `baton logs ${id}, and then baton retry ${id}`,
    }
  }
  if (finishedAt !== undefined)
    return { level: 'fine', check, text: `${id} ${status} ${relativeTime(finishedAt, now)}` }
  if (statusReason === undefined) return { level: 'fine', check, text: `${id} is ${status}` }
  const [text, next] = REASONS[statusReason](task, now)
  return { level: statusReason === 'due' ? 'fine' : 'notice', check, text: `${id} ${text}`, next }
}
