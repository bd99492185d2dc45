import * as api from '../../api/index.ts'
import type { MemberFacts } from '../../core/status/why.ts'
import { defined } from '../../core/values/json.ts'
import type { DiagnosticSystem } from '../../runtime/kernel/system.ts'
import { readWhy, readWhyMember, type Why } from '../../runtime/read/why.ts'
import { type Answer, answerProblem, type Call, operation } from '../operation.ts'
import { problem } from '../present/problems.ts'
import { noSuchTask } from '../present/refusal-problems.ts'
import { iso, isoOf } from '../present/tasks.ts'
import { isTaskId } from '../requests/publish-requests.ts'
import { explain } from '../why/explain.ts'
import { countText, type Explained } from '../why/words.ts'

export const whyOperations = [
  operation({
    name: 'why',
    tag: 'Tasks',
    summary: 'Explain why a task waits, runs or has ended',
    description:
      'Answers with one reason, one sentence that says what the task waits for, and what to do. The reasons have a table in the guide on waiting.',
    cost: 'At most 10 read units, one request to SQS and no write.',
    answers: { 200: { description: 'The reason.', schema: api.whyAnswer } },
    problems: ['not-found'],
    query: api.whyQuery,
    handle: handleWhy,
  }),
]

async function handleWhy(call: Call<api.WhyQuery, unknown, DiagnosticSystem>): Promise<Answer> {
  const { system, params, query } = call
  const id = params.id ?? ''
  if (!isTaskId(id)) return answerProblem(noSuchTask(id))
  const why = await readWhy(system, call, id)
  if (why) return { status: 200, body: presentWhy(id, why) }
  const { canvasId } = query
  if (canvasId === undefined) return answerProblem(unpublishedMember(id))
  const member = await readWhyMember(system, id, canvasId)
  if (member) return { status: 200, body: { id, ...explainMember(member) } }
  return answerProblem(
    problem('not-found', `there is no task ${id}, and ${canvasId} has no member of this id`),
  )
}

/** The key of a member of a canvas: the birth of the canvas, and the number of the leaf. */
const MEMBER_ID = /:[0-9A-HJKMNP-TV-Z]{26}\.\d+$/

function unpublishedMember(id: string) {
  if (!MEMBER_ID.test(id)) return noSuchTask(id)
  const hint = `if it is a member of a canvas that is not published yet, give canvasId in the query`
  return problem('not-found', `there is no task ${id}; ${hint}`)
}

/** The reason, the sentence and the next step of a member of a canvas that is not published. */
export function explainMember({ id, canvasId, members, ended, state }: MemberFacts) {
  const counted =
    ended === undefined
      ? ` of ${countText(members, 'member')}`
      : `: ${ended} of ${countText(members, 'member')} have ended`
  const read = `GET ${api.pathOf('getCanvas', canvasId)} shows its members.`
  switch (state) {
    case 'pending':
      return {
        status: 'pending' as const,
        reason: 'canvas' as const,
        sentence: `${id} waits for other members of ${canvasId}${counted}; it is published when those before it have ended.`,
        next: `There is nothing to do. ${read}`,
      }
    case 'about-to-start':
      return {
        status: 'pending' as const,
        reason: 'canvas' as const,
        sentence: `${id} waits for no other member of ${canvasId}, and is about to be published${counted}.`,
        next: `There is nothing to do: the sweeper publishes what was lost within some minutes. ${read}`,
      }
    case 'skipped':
      return {
        status: 'skipped' as const,
        reason: 'skipped' as const,
        sentence: `${id} never runs: a member of ${canvasId} before it failed, or it is for a failure that did not happen.`,
        next: `There is nothing to do. ${read}`,
      }
    case 'cancelled':
      return {
        status: 'cancelled' as const,
        reason: 'skipped' as const,
        sentence: `${id} never runs: ${canvasId} was cancelled before it was published.`,
        next: `Publish the canvas again if its work is still wanted. ${read}`,
      }
  }
}

/** Why a task waits, runs or has ended, as the API shows it. */
function presentWhy(id: string, { status, reason, facts }: Why): api.WhyAnswer {
  const why = explain(reason, facts)
  const { sentence, next, since, until, holder, lastWorkerSeenAt, log, deadLetterId } = why
  return {
    id,
    status,
    reason,
    sentence,
    next,
    ...defined({ since: isoOf(since), until: isoOf(until), holder }),
    ...presentLimit(why),
    ...presentQueue(why),
    ...defined({ lastWorkerSeenAt: isoOf(lastWorkerSeenAt), log, deadLetterId }),
  }
}

function presentLimit({ limit }: Explained): Pick<api.WhyAnswer, 'limit'> {
  if (!limit) return {}
  const { holders, ...rest } = limit
  const shown = holders?.map(({ taskId, since }) => ({ taskId, since: iso(since) }))
  return { limit: { ...rest, ...(shown && { holders: shown }) } }
}

function presentQueue({ queue }: Explained): Pick<api.WhyAnswer, 'queue'> {
  if (!queue) return {}
  const { oldestDueAt, ...rest } = queue
  return { queue: { ...rest, ...defined({ oldestDueAt: isoOf(oldestDueAt) }) } }
}
