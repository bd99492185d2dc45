import type { Problem } from '../../api/problems.ts'
import {
  documentedFinishBody,
  documentedHeartbeatsBody,
  finishesAnswer,
  heartbeatsAnswer,
  type RunName,
  type RunResult,
  runsBody,
} from '../../api/runs.ts'
import { DERIVED_KEY_CHARACTERS_MAX, TYPE_CHARACTERS_MAX } from '../../core/bounds.ts'
import { cut } from '../../core/task/error.ts'
import { sideBySideByName } from '../../runtime/kernel/heads.ts'
import { endOfRequest } from '../../runtime/kernel/system.ts'
import { describeHead } from '../../runtime/read/read.ts'
import { type Answer, answerProblem, type Call, type Checked, checkRule, operation } from '../operation.ts'
import { presentHeartbeat } from '../present/claims.ts'
import { invalid, problemOfError } from '../present/problems.ts'
import { presentTask } from '../present/tasks.ts'
import {
  finishRun,
  heartbeatRun,
  parseFinish,
  parseHeartbeat,
  type RunUpdate,
} from '../requests/apply-run-update.ts'

const TASKS_AT_ONCE_MAX = 25

export const runBatchOperations = [
  operation({
    name: 'heartbeatMany',
    tag: 'Work',
    summary: 'Renew the leases of up to 100 runs',
    description:
      'Each run has its own result, in the order of the request: the `status` that a single heartbeat would have answered, and its lease or its problem.',
    body: documentedHeartbeatsBody,
    answers: { 200: { description: 'The results, in the order of the runs.', schema: heartbeatsAnswer } },
    checksBody: true,
    handle: call =>
      answerEach(call, parseHeartbeat, async (update, until) => {
        const renewed = await heartbeatRun(call, update, until)
        if (!renewed.ok) return renewed
        return { ok: true, shown: presentHeartbeat(renewed.task, update.fence, renewed.leaseUntil) }
      }),
  }),
  operation({
    name: 'finishMany',
    tag: 'Work',
    summary: 'Report the ends of up to 100 runs',
    description:
      'Each run has its own result, in the order of the request: the `status` that a single report would have answered, and its task or its problem. `outcome` says how the run ended.',
    body: documentedFinishBody,
    answers: { 200: { description: 'The results, in the order of the runs.', schema: finishesAnswer } },
    checksBody: true,
    handle: call =>
      answerEach(call, parseFinish, async (update, until) => {
        const ended = await finishRun(call.system, update, until)
        if (!ended.ok) return ended
        return {
          ok: true,
          shown: { task: presentTask(await describeHead(call.system, call, ended.task, true)) },
        }
      }),
  }),
]

type MemberOutcome =
  | { readonly ok: true; readonly shown: object }
  | { readonly ok: false; readonly problem: Problem }

/**
 * Checks and applies each member. Members about the same task are applied one after the other, because they write the same
 * item. All members share the time of the request. A member that is not written by then is answered with 503.
 */
async function answerEach<Content>(
  call: Call<unknown, unknown>,
  parse: (value: unknown, at: string) => Checked<RunUpdate<Content>>,
  apply: (update: RunUpdate<Content>, until: number) => Promise<MemberOutcome>,
): Promise<Answer> {
  const body = checkRule(runsBody, call.body)
  if (!body.ok) return answerProblem(invalid(body.problems))
  const until = endOfRequest(call.system)
  const members = body.value.runs.map((value, index) => ({
    name: nameOf(value),
    update: parse(value, `runs.${index}`),
  }))
  const results = await sideBySideByName(
    members,
    TASKS_AT_ONCE_MAX,
    ({ name }) => name.taskId,
    async ({ name, update }): Promise<RunResult> => {
      const outcome = update.ok
        ? await orProblem(call, apply(update.value, until))
        : { ok: false as const, problem: invalid(update.problems) }
      return { ...name, ...(outcome.ok ? { status: 200, ...outcome.shown } : refusalOf(outcome.problem)) }
    },
  )
  return { status: 200, body: { results } }
}

/** Returns the task id and run id of a member for its result, even when the member is otherwise wrong. */
function nameOf(value: unknown): RunName {
  const members = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  const { taskId, runId } = members
  return { taskId: nameIn(taskId), runId: nameIn(runId) }
}

const NAME_CHARACTERS_MAX = 2 * (TYPE_CHARACTERS_MAX + DERIVED_KEY_CHARACTERS_MAX)

function nameIn(value: unknown): string {
  return typeof value === 'string' ? cut(value, NAME_CHARACTERS_MAX) : ''
}

function refusalOf(problem: Problem) {
  const { status, reason, holder } = problem
  return { status, ...(reason && { reason }), ...(holder !== undefined && { holder }), problem }
}

/** Turns an error of one member into a problem, so that it harms no other member. */
async function orProblem(
  { system, requestId }: Call<unknown, unknown>,
  outcome: Promise<MemberOutcome>,
): Promise<MemberOutcome> {
  return outcome.catch(error => {
    system.log.warn('a member of a batch failed', { error, requestId })
    return { ok: false, problem: problemOfError(error, requestId) }
  })
}
