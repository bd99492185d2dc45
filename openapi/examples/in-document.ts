import type { ApiProblemCode } from '../../shared/api/problem-codes.ts'
import type { Problem } from '../../shared/api/problems.ts'
import { BatonError } from '../../shared/core/values/values.ts'
import { problemOfError } from '../../shared/service/present/problems.ts'
import type { Schema } from '../schemas.ts'
import type { Exchanged } from './play.ts'

export type Examples = ReturnType<typeof createExamples>

/**
 * The exchanges as the document has them: in the `examples` of parameters, bodies and answers. What belongs together has the same name, such
 * as `publish-created`.
 */
export function createExamples(exchanged: readonly Exchanged[]) {
  const visible = exchanged.filter(({ hides }) => hides !== 'exchange')
  const of = (operation: string) => visible.filter(one => one.operation === operation)
  const requestsOf = (operation: string) => of(operation).filter(({ hides }) => hides !== 'request')
  return {
    ofParameter: (operation: string, where: 'path' | 'query', name: string) =>
      named(requestsOf(operation), ({ request }) => request[where][name]),
    ofRequest: (operation: string) => named(requestsOf(operation), ({ request }) => request.body),
    /** The bodies of the answers with this status. */
    ofAnswer: (operation: string, status: number) =>
      named(
        of(operation).filter(({ answer }) => answer.status === status),
        ({ answer }) => answer.body,
      ),
    /** The path in the first answer with this status. */
    locationOf: (operation: string, status: number): Schema => {
      const first = of(operation).find(({ answer }) => answer.status === status)
      const location = first?.answer.headers.get('location')
      return location ? { example: location } : {}
    },
    /** One problem of each code, whichever operation it came from, by the code. */
    ofProblems: (codes: readonly ApiProblemCode[]): Schema => {
      const pairs = codes.flatMap(code => problemExample(code, visible).map(one => [code, one]))
      return pairs.length > 0 ? { examples: Object.fromEntries(pairs) } : {}
    },
  }
}

/** The values by the names of their exchanges. Nothing when no exchange has such a value. */
function named(exchanged: readonly Exchanged[], read: (one: Exchanged) => unknown): Schema {
  const pairs = exchanged.flatMap(one => {
    const value = read(one)
    return value === undefined ? [] : [[nameOf(one), { summary: `${one.operation}: ${one.title}`, value }]]
  })
  return pairs.length > 0 ? { examples: Object.fromEntries(pairs) } : {}
}

/** The name of an exchange, unique in the document, because operations share answers. */
function nameOf({ operation, name }: Exchanged): string {
  return `${operation}-${name}`
}

function problemExample(code: ApiProblemCode, exchanged: readonly Exchanged[]): readonly Schema[] {
  const recorded = exchanged.find(({ answer }) => (answer.body as Problem | undefined)?.type === typeOf(code))
  if (recorded) return [{ summary: `${recorded.operation}: ${recorded.title}`, value: recorded.answer.body }]
  const error = OUTAGES[code]
  return error ? [{ summary: 'Any request', value: problemOfError(error, REQUEST_ID) }] : []
}

/** What happens to a request of any operation when a part of the system fails. */
const OUTAGES: Partial<Readonly<Record<ApiProblemCode, Error>>> = {
  internal: new Error('unexpected'),
  unavailable: new BatonError(
    'unavailable',
    'the table does not answer: PutItem on baton-tasks failed after 9.3 s (TimeoutError)',
  ),
}

const REQUEST_ID = '01JCZ3V5T8Q4X6Y7Z8A9B0C1D2'

/** The `type` of the problems with this code. */
export function typeOf(code: ApiProblemCode): string {
  return `urn:baton:problem:${code}`
}
