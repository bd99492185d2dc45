import { expect, it } from 'vitest'
import { aLocalSystem } from '../../support/local-system/local-system.ts'

const system = aLocalSystem({ services: true })

const service = () => system.cloud.services[0]!
const succeeded = ({ status }: { status: string }) => status === 'succeeded'

it('a worker service serves all types of its entry, from one process', async () => {
  const encoded = await system.publish({ type: 'encode', key: 'a', input: {} })
  const trimmed = await system.publish({ type: 'trim', key: 'b', input: { text: '  to be ' } })

  const tasks = [await system.taskWhen(encoded, succeeded), await system.taskWhen(trimmed, succeeded)]

  expect(tasks[1].result.text).toBe('to be')
  expect(tasks.map(({ result }) => result.pid)).toEqual([service().pid(), service().pid()])
})

it('a worker that dies is started again and runs later tasks', async () => {
  const pid = service().pid()!

  process.kill(pid, 'SIGKILL')
  // SQS may still give a message to the open request of the dead process, and delivers it again only much later.
  await expect.poll(() => service().pid() ?? pid).not.toBe(pid)
  const task = await system.taskWhen(
    await system.publish({ type: 'encode', key: 'after', input: {} }),
    succeeded,
  )

  expect(task.result.pid).not.toBe(pid)
})

it('types that workers serve have no Lambda, and a task shows that no worker of its type is there', async () => {
  const waiting = await system.publish({ type: 'video', key: 'nobody', input: {} })

  const { body } = await system.call('GET', '/v1/workers?limit=100')
  const { body: task } = await system.call('GET', `/v1/tasks/${encodeURIComponent(waiting)}`)

  const ids = body.items.map(({ id }: { id: string }) => id)
  expect(ids).toEqual(expect.arrayContaining(['lambda:probe', 'lambda:webhook']))
  expect(ids.filter((id: string) => /^lambda:(encode|trim|video|clip)$/.test(id))).toEqual([])
  expect(task).toMatchObject({ status: 'ready', statusReason: 'no-worker' })
})

it('a worker that is stopped lets its run finish', async () => {
  const id = await system.publish({ type: 'encode', key: 'long', input: { sleepMs: 1_500 } })
  await system.taskWhen(id, ({ status }) => status === 'running')

  await service().stop()

  const { body } = await system.call('GET', `/v1/tasks/${id}`)
  expect(body).toMatchObject({ status: 'succeeded', runs: [{ fence: body.result.fence }] })
})
