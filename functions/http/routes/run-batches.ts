import * as z from 'zod'
import type { Problem } from '../../../shared/api/problems.ts'
import {
  finishesAnswer,
  finishMembers,
  heartbeatMember,
  heartbeatsAnswer,
  type RunName,
  type RunResult,
  runsBody,
} from '../../../shared/api/runs.ts'
import { DERIVED_KEY_CHARACTERS_MAX, TYPE_CHARACTERS_MAX } from '../../../shared/core/bounds.ts'
import { cut } from '../../../shared/core/task/body.ts'
import { endOfRequest } from '../../../shared/runtime/kernel/in-time.ts'
import { sideBySideByName } from '../../../shared/runtime/kernel/side-by-side.ts'
import { describeHead } from '../../../shared/runtime/read/read.ts'
import { type Checked, checkSchema } from '../check.ts'
import { presentHeartbeat } from '../present/claims.ts'
import { presentTask } from '../present/tasks.ts'
import { invalid, problemOfError } from '../problems.ts'
import { finishRun, heartbeatRun, type RunUpdate } from '../requests/report-run.ts'
import { parseFinish, parseHeartbeat } from '../requests/run-reports.ts'
import { type Answer, answerProblem, type Call, route } from '../route.ts'

const MOST_AT_ONCE = 25

export const runBatchRoutes = [
  route({
    method: 'post',
    path: '/v1/runs/heartbeat',
    operation: 'heartbeatMany',
    summary: 'Signs of life of many runs, each for itself',
    documentedBody: z.strictObject({ runs: z.array(heartbeatMember).max(100) }),
    answers: { 200: { description: 'The results, in the order of the runs', schema: heartbeatsAnswer } },
    problems: [413],
    handle: call =>
      answerEach(call, parseHeartbeat, async (word, until) => {
        const beaten = await heartbeatRun(call, word, until)
        if (!beaten.ok) return beaten
        return { ok: true, shown: presentHeartbeat(beaten.task, word.fence, beaten.leaseUntil) }
      }),
  }),
  route({
    method: 'post',
    path: '/v1/runs/finish',
    operation: 'finishMany',
    summary: 'The ends of many runs, each for itself',
    documentedBody: z.strictObject({
      runs: z
        .array(
          z.discriminatedUnion('outcome', [finishMembers.succeed, finishMembers.fail, finishMembers.release]),
        )
        .max(100),
    }),
    answers: { 200: { description: 'The results, in the order of the runs', schema: finishesAnswer } },
    problems: [413],
    handle: call =>
      answerEach(call, parseFinish, async (word, until) => {
        const ended = await finishRun(call.system, word, until)
        if (!ended.ok) return ended
        return {
          ok: true,
          shown: { task: presentTask(await describeHead(call.system, call, ended.task, true)) },
        }
      }),
  }),
]

type Said = { readonly ok: true; readonly shown: object } | { readonly ok: false; readonly problem: Problem }

/**
 * Checks and says each member's word; those about one task one after the other, since they meet on one item. The time of the
 * request is for all of them: what is not written by its end is answered 503, each for itself.
 */
async function answerEach<What>(
  call: Call<unknown, unknown>,
  memberOf: (value: unknown, at: string) => Checked<RunUpdate<What>>,
  say: (word: RunUpdate<What>, until: number) => Promise<Said>,
): Promise<Answer> {
  const body = checkSchema(runsBody, call.body)
  if (!body.ok) return answerProblem(invalid(body.problems))
  const until = endOfRequest(call.system)
  const members = body.value.runs.map((value, index) => ({
    name: nameOf(value),
    word: memberOf(value, `runs.${index}`),
  }))
  const results = await sideBySideByName(
    members,
    MOST_AT_ONCE,
    ({ name }) => name.taskId,
    async ({ name, word }): Promise<RunResult> => {
      const said = word.ok
        ? await caught(call, say(word.value, until))
        : { ok: false as const, problem: invalid(word.problems) }
      return { ...name, ...(said.ok ? { status: 200, ...said.shown } : refusalOf(said.problem)) }
    },
  )
  return { status: 200, body: { results } }
}

/** What of a member names its run, as far as it is text and no longer than a name: shown again even when the rest is nonsense. */
function nameOf(value: unknown): RunName {
  const members = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  const { taskId, runId } = members
  return { taskId: nameIn(taskId), runId: nameIn(runId) }
}

const MOST_NAME_CHARACTERS = 2 * (TYPE_CHARACTERS_MAX + DERIVED_KEY_CHARACTERS_MAX)

function nameIn(value: unknown): string {
  return typeof value === 'string' ? cut(value, MOST_NAME_CHARACTERS) : ''
}

function refusalOf(problem: Problem) {
  const { status, reason, holder } = problem
  return { status, ...(reason && { reason }), ...(holder !== undefined && { holder }), problem }
}

/** One member's trouble harms no other. */
async function caught({ system, requestId }: Call<unknown, unknown>, saying: Promise<Said>): Promise<Said> {
  return saying.catch(error => {
    system.log.warn('a member of a batch failed', { error, requestId })
    return { ok: false, problem: problemOfError(error, requestId) }
  })
}
