import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { onUnhandledError } from './unhandled-errors.ts'

/** What a caught-by-nobody error of this code is told as. */
async function surprisesOf(code: () => void): Promise<unknown[]> {
  const told: unknown[] = []
  const stop = onUnhandledError(error => told.push(error))
  code()
  await turn()
  stop()
  return told
}

const error = new Error('nobody caught it')

it.each([
  ['a rejection', () => void Promise.reject(error)],
  ['a rejection after a while', () => void Promise.resolve().then(() => Promise.reject(error))],
  ['an exception in a listener', () => aborted(() => raise())],
  ['an exception in a turn of its own', () => queueMicrotask(raise)],
])('tells of %s that nobody has caught', async (_name, code) => {
  expect(await surprisesOf(code)).toEqual([error])
})

it('tells of nothing that was caught', async () => {
  expect(await surprisesOf(() => void Promise.reject(error).catch(() => undefined))).toEqual([])
})

it('gives way again to those who listened before', async () => {
  const before = process.rawListeners('unhandledRejection')

  await surprisesOf(() => undefined)

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
