import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { expect, test } from 'vitest'
import { eventually, fixtureFunction, synthesize } from './tiny-cloud.ts'

const cloudModule = fileURLToPath(new URL('../../local/cloud.ts', import.meta.url))

const script = (assemblyDir: string) => `
  const { startLocalCloud } = await import(${JSON.stringify(cloudModule)})
  const cloud = await startLocalCloud({ assemblyDir: ${JSON.stringify(assemblyDir)}, stackName: 'Tiny', apiPort: 0 })
  await cloud.functions.find('Reader').warm(2)
  console.log(JSON.stringify({ endpoint: cloud.endpoint, pids: cloud.functions.find('Reader').pids() }))
`

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('a cloud that is killed takes its functions and its store along', async () => {
  const assemblyDir = synthesize(stack => {
    fixtureFunction(stack, 'Reader', 'writer')
    new TableV2(stack, 'Items', { partitionKey: { name: 'pk', type: AttributeType.STRING } })
  })
  const child = spawn(process.execPath, ['--input-type=module', '-e', script(assemblyDir)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const { pids } = JSON.parse(line) as { pids: number[] }
  const java = await javaOf(child.pid!)
  expect([...pids, java].every(isAlive)).toBe(true)

  child.kill('SIGKILL')

  await eventually('the end of all', () => [...pids, java].every(pid => !isAlive(pid)))
})

/** The pid of the DynamoDB Local below a cloud's process: its shell's child. */
async function javaOf(parent: number): Promise<number> {
  const shell = await childOf(parent, 'sh')
  return childOf(shell, 'java')
}

async function childOf(parent: number, command: string): Promise<number> {
  const ps = spawn('ps', ['-o', 'pid=,comm=', '--ppid', String(parent)])
  let output = ''
  ps.stdout.on('data', chunk => {
    output += chunk
  })
  await once(ps, 'close')
  const found = output.split('\n').find(entry => entry.trim().endsWith(` ${command}`))
  return Number(found?.trim().split(/\s+/)[0])
}
