import { expect } from 'vitest'

/** The error with which the call failed. */
export const failureOf = (called: Promise<unknown>): Promise<Error> =>
  called.then(
    result => expect.unreachable(`it came back with ${JSON.stringify(result)}`),
    (error: Error) => error,
  )
