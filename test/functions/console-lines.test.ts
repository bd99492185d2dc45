import { afterEach, expect, it, vi } from 'vitest'
import { labelConsole, withConsoleLines } from '../../functions/console-lines.ts'
import { defineTask } from '../../shared/define/define-task.ts'
import type { TaskContext } from '../../shared/define/definitions.ts'

const { debug, log, info, warn, error } = console
afterEach(() => {
  Object.assign(console, { debug, log, info, warn, error })
  vi.restoreAllMocks()
})

const context = (taskId: string) => ({ taskId }) as TaskContext

it('what handlers print carries their tasks, also after they have waited for each other', async () => {
  const written: string[] = []
  vi.spyOn(process.stdout, 'write').mockImplementation(text => written.push(String(text)) > 0)
  const both = Promise.withResolvers<void>()
  const begun: string[] = []
  const task = withConsoleLines(
    defineTask('t', {
      run: async (_input, ctx) => {
        begun.push(ctx.taskId)
        if (begun.length === 2) both.resolve()
        await both.promise
        console.warn('at %s', 'once', { n: 1 })
      },
    }),
  )
  labelConsole()

  await Promise.all([task.run(undefined, context('t:1')), task.run(undefined, context('t:2'))])

  const lines = written.map(text => JSON.parse(text) as Record<string, unknown>)
  expect(lines.map(({ taskId }) => taskId)).toEqual(['t:1', 't:2'])
  expect(lines[0]).toMatchObject({ level: 'WARN', message: 'at once { n: 1 }' })
})

it('what the process prints outside of runs is written as it is', () => {
  const printed: unknown[][] = []
  console.log = (...all: unknown[]) => void printed.push(all)
  labelConsole()

  console.log('hello', 1)

  expect(printed).toEqual([['hello', 1]])
})
