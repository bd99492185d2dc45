import { strict } from '../../../shared/core/rules/compound.ts'
import { isOutage } from '../../../shared/core/values/values.ts'
import { DEFAULT_PACE } from '../../../shared/runtime/claim/wait-for-work.ts'
import type { DiagnosticSystem, PlanningSystem } from '../../../shared/runtime/kernel/system.ts'
import type { HttpWorkers } from '../../../shared/runtime/worker/announce-http-workers.ts'
import { type Answer, check, type Operation, type Parts } from '../../../shared/service/operation.ts'
import { ALL_OPERATIONS } from '../../../shared/service/operations.ts'
import { problemOfError } from '../../../shared/service/present/problems.ts'
import { limitsIn, liveWorkersIn, typesIn } from '../world/caches.ts'
import type { Question, ReadAnswer } from '../world/history.ts'

/** The operations of the API that only read. Each answer is held against the rule that the API publishes for it. */

const OPERATIONS = new Map<string, Operation<DiagnosticSystem>>(ALL_OPERATIONS.map(one => [one.name, one]))

const NO_QUERY = strict({})
const OK = 200

/** Asks an operation as the API does, after the checks of the query. */
export async function askRoute(
  system: PlanningSystem,
  httpWorkers: HttpWorkers,
  { operation, params, query }: Question,
): Promise<ReadAnswer> {
  const asked = OPERATIONS.get(operation)
  if (!asked) throw new Error(`there is no operation ${operation}`)
  const checked = check(asked.query ?? NO_QUERY, query)
  if (!checked.ok) return { status: 400, body: checked.problems }
  const { status, body } = await asked
    .handle({
      ...partsOf(system, httpWorkers),
      ...{ principal: 'a reader', params, body: undefined, traceparent: undefined, requestId: 'a read' },
      query: checked.value,
    })
    .catch(answerOf)
  const misfits = status === OK ? (asked.answers[OK]?.schema?.problems(body, '') ?? []) : []
  return { status, body, ...(misfits.length > 0 && { misfit: JSON.stringify(misfits) }) }
}

/**
 * The answer to a request that fails: without an answer of the store there is none.
 *
 * @throws the error of an outage.
 */
function answerOf(error: unknown): Answer {
  if (isOutage(error)) throw error
  const shown = problemOfError(error, 'a read')
  return { status: shown.status, body: shown }
}

function partsOf(system: PlanningSystem, httpWorkers: HttpWorkers): Parts<DiagnosticSystem> {
  return {
    system: { ...system, ...NO_DEAD_LETTERS } as unknown as DiagnosticSystem,
    typeOf: typesIn(system),
    liveWorkers: liveWorkersIn(system),
    limitHolding: limitsIn(system),
    httpWorkers,
    claimPace: DEFAULT_PACE,
    version: 'simulated',
    description: async () => ({}),
  }
}

/** The simulated queues give no message up. */
const NO_DEAD_LETTERS = { deadLetters: { noteOf: async () => undefined } }
