import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, utimesSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { aSystem, readTemplate } from '../infra/synthesised.ts'
import { aFolder } from '../support/a-folder.ts'

const { stack, tasks } = aSystem()
tasks.addWorkerService('Media', { entry: 'test/infra/fixtures/two-tasks.ts' })
const [definition] = readTemplate(stack).ofType('AWS::ECS::TaskDefinition')
const [container] = definition!.Properties.ContainerDefinitions

const folder = aFolder()
const file = join(folder, 'alive')
/** The health check as ECS runs it in the container, on the file of this test. */
const isHealthy = () => {
  const [, command] = container.HealthCheck.Command
  return spawnSync('/bin/sh', ['-c', command.replace('/tmp/baton-alive', file)]).status === 0
}

let worker: ChildProcess | undefined
afterEach(() => worker?.kill('SIGKILL'))

it('a container is healthy while the event loop of its worker runs, and not when it hangs', async () => {
  const main = join(folder, 'main.ts')
  const imports = ['functions/worker.ts', 'shared/define/define-task.ts'].map(path =>
    JSON.stringify(resolve(path)),
  )
  writeFileSync(
    main,
    `import { serveTasks } from ${imports[0]}
     import { defineTask } from ${imports[1]}
     serveTasks([defineTask('one', { run: () => null })])`,
  )
  expect(isHealthy()).toBe(false)

  worker = spawn(process.execPath, [main], {
    stdio: 'ignore',
    env: {
      ...Object.fromEntries(['BATON_CONCURRENCY', 'BATON_DRAIN_MS'].map(name => [name, '1'])),
      ...{ PATH: process.env.PATH, BATON_SYSTEM: 'Baton', BATON_TABLE: 'table', BATON_LIFE_FILE: file },
      ...{ AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x' },
      ...{ AWS_ENDPOINT_URL: 'http://127.0.0.1:9', BATON_WAKE_QUEUE_URL: 'http://127.0.0.1:9/1/Baton-wake' },
    },
  })
  await expect.poll(() => existsSync(file)).toBe(true)
  expect(isHealthy()).toBe(true)

  // A stopped process stands for a hung one: neither touches the file. The file is as old as after a minute.
  worker.kill('SIGSTOP')
  const aMinuteAgo = Date.now() / 1_000 - 61
  utimesSync(file, aMinuteAgo, aMinuteAgo)
  expect(isHealthy()).toBe(false)

  worker.kill('SIGCONT')
  await expect.poll(isHealthy, { interval: 500 }).toBe(true)
})

it('a service can go without the health check, for an image without a shell', () => {
  const other = aSystem()
  other.tasks.addWorkerService('Media', { entry: 'test/infra/fixtures/two-tasks.ts', healthCheck: false })

  const [plain] = readTemplate(other.stack).ofType('AWS::ECS::TaskDefinition')

  expect(plain!.Properties.ContainerDefinitions[0].HealthCheck).toBeUndefined()
})
