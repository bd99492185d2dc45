import { AsyncLocalStorage } from 'node:async_hooks'
import { format } from 'node:util'
import type { TaskDefinition } from '../shared/define/definitions.ts'

const taskIds = new AsyncLocalStorage<string>()

const LEVELS = { debug: 'DEBUG', log: 'INFO', info: 'INFO', warn: 'WARN', error: 'ERROR' } as const

/**
 * Makes what a handler prints on the console carry the id of its task, although the tasks of a batch run at the same time. The lines have
 * the form of log lines. Only `baton dev` asks for it: on AWS, lines are written as they are. The wrapped handler also announces its runs.
 */
export function withConsoleLines(definition: TaskDefinition): TaskDefinition {
  return {
    ...definition,
    run: async (input, ctx) => {
      const run = { taskId: ctx.taskId, runId: ctx.runId }
      runs.add(run)
      announceRuns()
      try {
        return await taskIds.run(ctx.taskId, () => definition.run(input, ctx))
      } finally {
        runs.delete(run)
        announceRuns()
      }
    },
  }
}

/** The runs of this process that are under way. When it dies, the local system knows which runs have ended with it. */
const runs = new Set<object>()

function announceRuns(): void {
  process.send?.({ kind: 'runs', runs: [...runs] })
}

/** From now on the console of this process writes the lines of handlers with their tasks. */
export function labelConsole(): void {
  for (const [method, level] of Object.entries(LEVELS)) {
    const print = console[method as keyof typeof LEVELS]
    console[method as keyof typeof LEVELS] = (...printed: unknown[]) => {
      const taskId = taskIds.getStore()
      if (taskId === undefined) return print(...printed)
      const line = { level, message: format(...printed), timestamp: new Date().toISOString(), taskId }
      process.stdout.write(`${JSON.stringify(line)}\n`)
    }
  }
}
