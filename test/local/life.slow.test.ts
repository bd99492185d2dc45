import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { expect, it } from 'vitest'
import { isAlive, javaOf, startLocalProcess } from '../support/local-system/local-process.ts'
import { eventually, fixtureFunction, synthesize } from './tiny-cloud.ts'

const start = () =>
  startLocalProcess({
    assemblyDir: synthesize(stack => {
      fixtureFunction(stack, 'Reader', 'writer')
      new TableV2(stack, 'Items', { partitionKey: { name: 'pk', type: AttributeType.STRING } })
    }),
    stackName: 'Tiny',
  })

it("a killed cloud's functions and store end with it", async () => {
  const { child, functionPids } = await start()
  const java = await javaOf(child.pid!)
  expect([...functionPids, java].every(isAlive)).toBe(true)

  child.kill('SIGKILL')

  await eventually('the end of all', () => [...functionPids, java].every(pid => !isAlive(pid)))
})

it('a cloud ends itself and says why when its store in memory dies, because an empty store would be wrong', async () => {
  const { child, functionPids, broken, apiUrl } = await start()

  process.kill(await javaOf(child.pid!), 'SIGKILL')

  expect(await broken).toMatch(/^DynamoDB Local ended: .*; its tables were in memory and are lost$/)
  expect(functionPids.some(isAlive)).toBe(false)
  await expect(fetch(apiUrl)).rejects.toThrow()
  child.kill('SIGKILL')
})
