import { writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { RemovalPolicy } from 'aws-cdk-lib'
import { expect, it } from 'vitest'
import { anApp, aSystem, manyTasks } from '../../infra/synthesised.ts'
import { aLocalSystem, hasEnded } from '../../support/local-system/local-system.ts'

const HANDLERS = 35
const IN_OWN_STACK = 'task2'
const NESTED = 'task34'

const system = aLocalSystem(() => ({ assemblyDir: synthesise() }))

/** Synthesises 35 handlers, of which five are nested, and a flow whose steps are of both sorts. Returns the assembly's folder. */
function synthesise(): string {
  const app = anApp({ 'aws:cdk:bundling-stacks': ['**'] })
  const { tasks } = aSystem({ removalPolicy: RemovalPolicy.DESTROY }, 'Baton', app)
  const { entry, types } = manyTasks(HANDLERS)
  for (const task of types) tasks.addHandler(task, { entry, task })
  tasks.addFlow('Order', { entry: flowBeside(entry) })
  return app.synth().directory
}

function flowBeside(entry: string): string {
  const definer = JSON.stringify(resolve('shared/define/flow/define-flow.ts'))
  const steps = [IN_OWN_STACK, NESTED].map(type => ({ name: type, do: type }))
  const file = join(dirname(entry), 'flow.ts')
  writeFileSync(
    file,
    `import { defineFlow } from ${definer}\nexport const order = defineFlow('order', ${JSON.stringify({ steps })})`,
  )
  return file
}

it('boots nested stacks: all their resources run or are known, and no handler has a process yet', () => {
  const handlers = system.cloud.functions.all().filter(({ logicalId }) => /task\d+Function/.test(logicalId))
  const nested = handlers.filter(({ logicalId }) => /^TasksNestedHandlers\d+task/.test(logicalId))

  expect([handlers.length, nested.length]).toEqual([HANDLERS, HANDLERS - 30])
  expect(system.cloud.unsupported).toEqual([])
  expect(handlers.flatMap(one => one.pids())).toEqual([])
})

it('runs a task of a handler in a nested stack', async () => {
  const id = await system.publish({ type: NESTED, input: { number: 21 } })

  expect(await system.taskWhen(id, hasEnded)).toMatchObject({ status: 'succeeded', result: { doubled: 42 } })
})

it('runs a flow whose steps are handlers of both the own and a nested stack', async () => {
  const id = await system.publish({ type: 'order', input: { number: 4 } })

  const { status, steps } = await system.taskWhen(id, hasEnded)

  expect(status).toBe('succeeded')
  expect(steps.map(({ result }: { result: unknown }) => result)).toEqual([{ doubled: 8 }, { doubled: 8 }])
})
