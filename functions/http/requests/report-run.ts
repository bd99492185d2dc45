import type { Problem } from '../../../shared/api/problems.ts'
import { PROGRESS_BYTES_MAX, RUN_LOG_BYTES_MAX } from '../../../shared/core/bounds.ts'
import { type Json, jsonBytes, textBytes } from '../../../shared/core/json.ts'
import type { Outcome } from '../../../shared/core/run/finish.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { System } from '../../../shared/runtime/kernel/system.ts'
import {
  beatOverHttp,
  type EndOutcome,
  finishOverHttp,
  type RunReference,
} from '../../../shared/runtime/run/http-runs.ts'
import { joinPath } from '../check.ts'
import { invalid } from '../problems.ts'
import { noSuchRun, runProblem } from '../refusals.ts'
import type { Api } from '../route.ts'
import { sizeProblem } from './publish-requests.ts'
import { runReference } from './task-ids.ts'

/** Which run is spoken for, and what is said; `at` is where in the request it stood. */
export type RunUpdate<Said> = {
  readonly taskId: string
  readonly runId: string
  readonly fence: number
  readonly content: Said
  readonly at?: string
}

type Refused = { readonly ok: false; readonly problem: Problem }

export async function heartbeatRun(
  { system, httpWorkers }: Api,
  word: RunUpdate<Json | undefined>,
  until?: number,
): Promise<{ readonly ok: true; readonly leaseUntil: number; readonly task: Task } | Refused> {
  const tooLarge = progressProblem(word)
  if (tooLarge) return { ok: false, problem: tooLarge }
  const beaten = await speak(word, run => beatOverHttp(system, run, word.content, until))
  const workerId = beaten.ok ? beaten.task.live[word.fence]?.workerId : undefined
  if (beaten.ok && workerId !== undefined) await httpWorkers.recordActivity({ workerId }, [beaten.task.type])
  return beaten
}

export async function finishRun(
  system: System,
  word: RunUpdate<Outcome>,
  until?: number,
): Promise<{ readonly ok: true; readonly task: Task } | Refused> {
  const result = word.content.outcome === 'succeed' ? word.content.result : undefined
  const next = word.content.outcome === 'succeed' ? word.content.next : undefined
  const at = word.at ?? ''
  const tooLarge =
    sizeProblem(result, joinPath(at, ['result'])) ?? sizeProblem(next?.input, joinPath(at, ['next', 'input']))
  if (tooLarge) return { ok: false, problem: invalid([tooLarge], 'too-large') }
  const longLog = logProblem(word)
  if (longLog) return { ok: false, problem: longLog }
  return speak<{ readonly ok: true; readonly task: Task }>(word, run =>
    finishOverHttp(system, run, word.content, until),
  )
}

function progressProblem({ content: said, at = '' }: RunUpdate<Json | undefined>): Problem | undefined {
  const bytes = said === undefined ? 0 : jsonBytes(said)
  if (bytes <= PROGRESS_BYTES_MAX) return undefined
  const message = `has ${bytes} bytes as JSON; at most ${PROGRESS_BYTES_MAX} are kept`
  return invalid([{ path: joinPath(at, ['progress']), message }], 'too-large')
}

/** The id of a run holds its fence. */
function strangeFence({ taskId, runId, fence, at = '' }: RunUpdate<unknown>, run: RunReference): Problem {
  const message = `must be ${run.fence}, not ${fence}: run ${runId} of ${taskId} has that fence, as the answer to the claim says`
  return invalid([{ path: joinPath(at, ['fence']), message }])
}

function logProblem({ content: said, at = '' }: RunUpdate<Outcome>): Problem | undefined {
  const bytes = said.outcome === 'fail' && said.log !== undefined ? textBytes(said.log) : 0
  if (bytes <= RUN_LOG_BYTES_MAX) return undefined
  const message = `has ${bytes} bytes in UTF-8; at most ${RUN_LOG_BYTES_MAX} are kept: send the newest`
  return invalid([{ path: joinPath(at, ['log']), message }], 'too-large')
}

async function speak<Accepted extends { readonly ok: true }>(
  word: RunUpdate<unknown>,
  say: (run: RunReference) => Promise<Accepted | Exclude<EndOutcome, { ok: true }>>,
): Promise<Accepted | Refused> {
  const { taskId, runId, fence, at = '' } = word
  const run = runReference(taskId, runId)
  if (!run) return { ok: false, problem: noSuchRun(taskId, runId) }
  if (run.fence !== fence) return { ok: false, problem: strangeFence(word, run) }
  const outcome = await say(run)
  if (outcome.ok) return outcome
  switch (outcome.reason) {
    case 'no-stages': {
      const message = 'is for tasks that are no flows: what comes after a step is declared'
      return { ok: false, problem: invalid([{ path: joinPath(at, ['next']), message }]) }
    }
    case 'no-room': {
      const message = `is too long: the parameters of ${taskId} have room for ${Math.max(0, outcome.room)} bytes more`
      return { ok: false, problem: invalid([{ path: joinPath(at, ['result']), message }], 'too-large') }
    }
    default:
      return { ok: false, problem: runProblem(taskId, runId, outcome) }
  }
}
