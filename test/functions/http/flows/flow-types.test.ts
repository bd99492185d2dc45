import { beforeEach, describe, expect, it } from 'vitest'
import { aFlowApiPerTest, FLOW, STEPS } from '../../../support/http/a-flow-api.ts'
import { expectRefused, type Shown } from '../../../support/http/an-api.ts'
import { MINUTE, SECOND } from '../../../support/tasks/a-task.ts'

const api = aFlowApiPerTest()

describe('a flow type', () => {
  it('is shown as it was put, with the system’s defaults filled in', async () => {
    const created = await api.put(FLOW)
    const replaced = await api.put({
      ...FLOW,
      onCancel: 'leave',
      defaults: { deadlineMs: MINUTE, priority: 2 },
    })

    expect(created).toMatchObject({ status: 201, body: { kind: 'flow', steps: STEPS, onCancel: 'undo' } })
    expect(replaced).toMatchObject({
      status: 200,
      body: { onCancel: 'leave', defaults: { deadlineMs: MINUTE } },
    })
    expect((await api.call('GET', '/v1/types/order')).body).toEqual(replaced.body)
  })

  const withSteps = (...steps: object[]) => ({
    kind: 'flow',
    steps: steps.map(one => ({ ...STEPS[0], ...one })),
  })
  const doing = (more: object) => ({ do: { type: 'jobs', ...more } })
  const withStep = (step: object) => withSteps(step)
  it.each<[string, object, string]>([
    ['no steps', { kind: 'flow' }, 'steps'],
    ['an empty list', { kind: 'flow', steps: [] }, 'steps'],
    [
      'too many',
      withSteps(...Array.from({ length: 101 }, (_, i) => ({ ...STEPS[0], name: `s${i}` }))),
      'steps',
    ],
    ['steps of more than 100 KB', withStep({ do: { type: 'jobs', input: 'x'.repeat(103_000) } }), 'steps'],
    ['two of one name', withSteps({}, {}), 'steps.1.name'],
    ['one named like the undo of another', withSteps({}, { name: 'undo reserve' }), 'steps.1.name'],
    ['no name', withStep({ name: '' }), 'steps.0.name'],
    ['a name that is not a plain member', withStep({ name: '__proto__' }), 'steps.0.name'],
    ['nothing to do', { kind: 'flow', steps: [{ name: 'a' }] }, 'steps.0.do'],
    ['no type', withStep({ do: {} }), 'steps.0.do.type'],
    ['no type name', withStep({ undo: { type: 'a b' } }), 'steps.0.undo.type'],
    ['a timeout of nothing', withStep({ do: { type: 'jobs', timeoutMs: 0 } }), 'steps.0.do.timeoutMs'],
    ['a deadline of nothing', withStep({ undo: { type: 'jobs', deadlineMs: 0 } }), 'steps.0.undo.deadlineMs'],
    ['a bad retry', withStep(doing({ retry: { maxRetries: -1 } })), 'steps.0.do.retry.maxRetries'],
    ['an unknown field', withStep({ do: { type: 'jobs', priority: 1 } }), 'steps.0.do.priority'],
    ['options next to do', withStep({ timeoutMs: 5 }), 'steps.0.timeoutMs'],
    ['an order of its own', { ...FLOW, ordering: 'priority' }, 'ordering'],
    ['options of its steps', { ...FLOW, defaults: { timeoutMs: 5 } }, 'defaults.timeoutMs'],
    ['a webhook', { ...FLOW, webhook: {} }, 'webhook'],
    ['steps of another kind', { kind: 'http', steps: STEPS }, 'steps'],
    ['what a cancel does, of another kind', { kind: 'handler', onCancel: 'leave' }, 'onCancel'],
  ])('is refused by path with %s', async (_name, body, path) => {
    await expectRefused(api.put(body), path)
  })
})

describe('the steps of a flow type name types', () => {
  const steps = (...types: string[]) => ({
    kind: 'flow',
    steps: types.map((type, index) => ({ name: `s${index}`, do: { type }, undo: { type: 'jobs' } })),
  })

  it('that exist: an unknown type is refused by its path, with the nearest name', async () => {
    const refused = await api.put(steps('jobs', 'job'), 'broken')

    const message =
      "must name a registered type; 'job' is not registered; did you mean 'jobs'? There are jobs, resize"
    expect(refused).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'steps.1.do.type', message }] },
    })
    expect((await api.call('GET', '/v1/types/broken')).status).toBe(404)
  })

  it('that are not flows, so a flow cannot name itself', async () => {
    await api.put(FLOW)
    const refused = [await api.put(steps('order'), 'broken'), await api.put(steps('jobs', 'order'))]

    expect(refused.map(({ status }) => status)).toEqual([400, 400])
    const message = "must name a type that is not a flow; 'order' is a flow"
    expect(refused[0]?.body.errors).toEqual([{ path: 'steps.0.do.type', message }])
    expect(refused[1]?.body.errors).toEqual([{ path: 'steps.1.do.type', message }])
    expect((await api.call('GET', '/v1/types/order')).body.steps).toEqual(STEPS)
  })
})

describe('publishing a flow', () => {
  beforeEach(async () => void (await api.put(FLOW)))

  it.each<[string, object, string]>([
    ['an input that is not an object', { input: [1] }, 'input'],
    ['an input of null', { input: null }, 'input'],
    ['an input with the name of a step', { input: { charge: 1 } }, 'input.charge'],
    ['options of its steps', { retry: { maxRetries: 1 } }, 'retry'],
    ['workers of its steps', { workerIds: ['w1'] }, 'workerIds'],
    ['several successes', { concurrency: 2 }, 'concurrency'],
    ['a stage', { stage: 'x' }, 'stage'],
  ])('is refused with %s', async (_name, body, path) => {
    await expectRefused(api.publish(body), path)
  })

  it('is refused when the type of a step has become a flow', async () => {
    await api.call('PUT', '/v1/types/later', { kind: 'http' })
    await api.put({ kind: 'flow', steps: [{ name: 'a', do: { type: 'later' } }] }, 'broken')
    await api.put(FLOW, 'later')

    const refused = await api.call('POST', '/v1/tasks', { type: 'broken' })

    const message = "'broken' is a flow that cannot run: its step 'a' names 'later', which is a flow itself"
    expect(refused).toMatchObject({ status: 400, body: { errors: [{ path: 'type', message }] } })
  })

  it('is refused while the tasks of a step list workers', async () => {
    await api.call('PUT', '/v1/types/targeted', { kind: 'http', defaults: { workerIds: ['w1'] } })
    await api.put({ kind: 'flow', steps: [{ name: 'a', do: { type: 'targeted' } }] }, 'broken')

    const message = expect.stringMatching(/workerIds; steps cannot/)
    expect(await api.call('POST', '/v1/tasks', { type: 'broken' })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'type', message }] },
    })
  })

  it('needs no input, takes options of the whole flow, and keeps the present steps', async () => {
    const { status, body } = await api.publish({
      input: undefined,
      deadlineMs: MINUTE,
      priority: 4,
      delayMs: SECOND,
    })
    await api.put({ kind: 'flow', steps: [STEPS[1]] })

    expect(status).toBe(201)
    expect(body.task).toMatchObject({
      status: 'delayed',
      statusReason: 'due',
      priority: 4,
      cursor: 0,
      params: {},
    })
    expect((await api.get()).steps.map(({ name }: Shown) => name)).toEqual(['reserve', 'charge'])
  })

  it('again creates nothing, and does not restart a flow that is running', async () => {
    await api.publish()
    await api.succeed()

    expect(await api.publish()).toMatchObject({ status: 200, body: { created: false } })
    expect(await api.publish({ ifExists: 'update', priority: 9 })).toMatchObject({
      status: 200,
      body: { task: { priority: 0 } },
    })
    const refused = await api.publish({ ifExists: 'restart' })
    expect(refused.status).toBe(409)
    expect(refused.body.detail).toMatch(/is a running flow/)
  })
})
