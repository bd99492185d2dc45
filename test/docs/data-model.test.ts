import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import * as bodyRequests from '../../shared/aws/dynamo/head/body-requests.ts'
import * as definitionRequests from '../../shared/aws/dynamo/head/head-reader.ts'
import * as headRequests from '../../shared/aws/dynamo/head/head-requests.ts'
import { headItem } from '../../shared/aws/dynamo/head/items.ts'
import * as indexRequests from '../../shared/aws/dynamo/index-requests.ts'
import { INDEXES } from '../../shared/aws/dynamo/keys.ts'
import * as limitRequests from '../../shared/aws/dynamo/limits/limit-requests.ts'
import * as canvasRequests from '../../shared/aws/dynamo/stores/canvas-store.ts'
import * as recordRequests from '../../shared/aws/dynamo/stores/record-store.ts'
import * as turnRequests from '../../shared/aws/dynamo/stores/turn-store.ts'
import * as typeRequests from '../../shared/aws/dynamo/stores/type-store.ts'
import * as targetRequests from '../../shared/aws/dynamo/worker/targets.ts'
import * as workerRequests from '../../shared/aws/dynamo/worker/worker-store.ts'
import { aCanvas, aFlow, anEndedRun, aRun, aSchedule, aTask, DAY, NOW } from '../support/tasks/a-task.ts'

const text = await readFile(new URL('../../docs/data-model.md', import.meta.url), 'utf8')
const REQUEST =
  /^(acquire|add|advance|batchGet|clear|count|delete|get|join|keep|list|mark|note|put|query|record|release|renew|update)[A-Z]/

it('docs/data-model.md explains every attribute of a head', () => {
  const full = aTask({
    state: 'failed',
    kind: 'webhook',
    ordering: 'aged',
    retrying: true,
    deadlineAt: NOW,
    priority: 1,
    userId: 'u1',
    tags: { a: 'b' },
    traceparent: '00-1-1-01',
    options: { leaseMs: 1 },
    input: { inline: 1 },
    wait: { kind: 'permit', limit: 'resize' },
    live: [aRun({ timeoutAt: NOW, progress: 1 })],
    ended: [anEndedRun({ fence: 2 })],
    failures: 1,
    failuresBy: { w1: 1 },
    retryAtBy: { w1: NOW },
    error: { name: 'E', message: 'no' },
    startedAt: NOW,
    finishedAt: NOW,
    expiresAt: NOW + DAY,
    shard: 1,
    stage: 'store',
    flow: { definition: aFlow(), reachedStep: 1, presentStep: 0, direction: 'undo', steps: {} },
    previous: { kind: 'body', handOn: 'append', body: { inline: 1 } },
    immutable: true,
    callbacks: { body: { inline: 1 }, onSuccess: 1, onError: 0 },
    owes: true,
    unpublished: { indices: [0], problems: [], judgedAt: NOW, revision: 1 },
    limitValues: { shop: 'a' },
    fairnessKey: 't1',
    stageChanges: 1,
    parentId: 'resize:k0',
    member: { canvasId: 'c', born: NOW.toString(), leaf: 0 },
  })
  const heads = [{ ...full, place: { name: 'ready#resize#1', order: '1' } }, aCanvas(), aSchedule()]
  const attributes = heads.flatMap(head => Object.keys(headItem(head)))

  expect(attributes.filter(name => !text.includes(`\`${name}\``))).toEqual([])
})

it('docs/data-model.md names every request and every index', () => {
  const modules = [
    bodyRequests,
    definitionRequests,
    canvasRequests,
    headRequests,
    indexRequests,
    limitRequests,
    recordRequests,
    targetRequests,
    turnRequests,
    typeRequests,
    workerRequests,
  ]
  const requests = modules.flatMap(module => Object.keys(module)).filter(name => REQUEST.test(name))
  const names = [...requests, ...Object.keys(INDEXES)]

  expect(requests.length).toBeGreaterThan(10)
  expect(names.filter(name => !text.includes(`\`${name}\``))).toEqual([])
})
