import { defined, type Json } from '../../shared/core/values/values.ts'

/** A request of an example. */
export type ExampleRequest = {
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number | readonly string[]>>
  readonly body?: Json
  /** The run that it is about, by its claim and the place of its task in it. It fills in the path, and the fence in the body. */
  readonly run?: readonly [claim: string, nth?: number]
}

// biome-ignore lint/suspicious/noExplicitAny: a later request reads what it needs of an answer, as callers do
export type Body = any

/** Returns the body that answered an earlier exchange: `answerOf('claim', 'tasks')`. */
export type AnswerOf = (operation: string, name: string) => Body

/**
 * One request of the conversation, and the status of its answer. The document shows the request and its answer under the same name in the
 * `examples` of its parameters, its body and its answers. That name is unique within the operation.
 */
export type Exchange = {
  readonly operation: string
  readonly name: string
  /** What the example shows, in one line without a full stop. */
  readonly title: string
  readonly status: number
  /** The request. It may use earlier answers. */
  readonly asks: ExampleRequest | ((answerOf: AnswerOf) => ExampleRequest)
  /** Why the document does not show it: it only prepares a later one, or only its answer is worth showing. */
  readonly hides?: 'exchange' | 'request'
  /** The content type of the body. @default application/json */
  readonly contentType?: string
  /** Whether as many claims wait as may. A test against a whole system does not bring that about. */
  readonly isCrowded?: true
  /** Whether the answer is the stream of events, as the local system sends it in place of the function. */
  readonly isStream?: true
}

/** What happens between two exchanges. */
export type Happening =
  /** Time passes until the answer to a `GET` of this path shows this. */
  | { readonly path: string; readonly until: (body: Body) => boolean }
  /** The waker's message about this task is given up, and the sweeper finds it. */
  | { readonly lost: string }

export type Step = Exchange | Happening

/** A request of an example, and what else is special about its exchange. */
type Shown = ExampleRequest & Pick<Exchange, 'hides' | 'contentType' | 'isCrowded' | 'isStream'>

/** An exchange that the document shows. Without a `request`, it names in its path what the others name, and has no query and no body. */
export function shows(
  operation: string,
  name: string,
  status: number,
  title: string,
  request: Shown | ((answerOf: AnswerOf) => ExampleRequest) = {},
): Exchange {
  const { hides, contentType, isCrowded, isStream }: Shown = typeof request === 'function' ? {} : request
  const special = defined({ hides, contentType, isCrowded, isStream })
  return { operation, name, title, status, asks: request, ...special }
}

/** An exchange that only prepares later ones. */
export function prepares(operation: string, name: string, status: number, asks: Exchange['asks']): Exchange {
  return { operation, name, title: name, status, asks, hides: 'exchange' }
}

/** The run of the nth task of a claim, as batches name it. */
export function memberIn(answerOf: AnswerOf, claim: string, nth = 0) {
  const { task, run }: Body = answerOf('claim', claim).claims[nth]
  return { taskId: task.id as string, runId: run.id as string, fence: run.fence as number }
}
