import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { onUnhandledError } from './unhandled-errors.ts'

/** The unhandled errors that are reported while the code runs. */
async function unhandledBy(code: () => void): Promise<unknown[]> {
  const reported: unknown[] = []
  const stop = onUnhandledError(error => reported.push(error))
  code()
  await nextTurn()
  stop()
  return reported
}

const error = new Error('unhandled on purpose')

it.each([
  ['a rejection', () => void Promise.reject(error)],
  ['a rejection after a while', () => void Promise.resolve().then(() => Promise.reject(error))],
  ['an exception in a listener', () => aborted(() => raise())],
  ['an exception in a microtask', () => queueMicrotask(raise)],
])('%s that is not handled is reported', async (_name, code) => {
  expect(await unhandledBy(code)).toEqual([error])
})

it('an error that was handled is not reported', async () => {
  expect(await unhandledBy(() => void Promise.reject(error).catch(() => undefined))).toEqual([])
})

it('the end of the watch restores the earlier listeners', async () => {
  const before = process.rawListeners('unhandledRejection')

  await unhandledBy(() => undefined)

  expect(process.rawListeners('unhandledRejection')).toEqual(before)
})

function aborted(listener: () => void): void {
  const aborting = new AbortController()
  aborting.signal.addEventListener('abort', listener)
  aborting.abort()
}

function raise(): never {
  throw error
}
