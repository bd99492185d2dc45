import type { EventBridgeClient } from '@aws-sdk/client-eventbridge'
import { createTaskCodec } from '../../../shared/aws/dynamo/head/head-reader.ts'
import { headItem } from '../../../shared/aws/dynamo/head/items.ts'
import { createTaskStore } from '../../../shared/aws/dynamo/head/task-store.ts'
import { createLimitStore } from '../../../shared/aws/dynamo/limits/limit-store.ts'
import { createActivityStore } from '../../../shared/aws/dynamo/stores/activity-store.ts'
import { createCanvasStore } from '../../../shared/aws/dynamo/stores/canvas-store.ts'
import { createDeadLetterStore } from '../../../shared/aws/dynamo/stores/dead-letter-store.ts'
import { createFailureStore } from '../../../shared/aws/dynamo/stores/failure-store.ts'
import { createRecordStore } from '../../../shared/aws/dynamo/stores/record-store.ts'
import { createTurnStore } from '../../../shared/aws/dynamo/stores/turn-store.ts'
import { createTypeStore } from '../../../shared/aws/dynamo/stores/type-store.ts'
import { createTargets } from '../../../shared/aws/dynamo/worker/targets.ts'
import { createWorkerStore } from '../../../shared/aws/dynamo/worker/worker-store.ts'
import { createEventBridge } from '../../../shared/aws/event-bus.ts'
import { createLateEventQueue } from '../../../shared/aws/sqs/messages.ts'
import { type BatonEvent, eventsOf } from '../../../shared/core/events/events.ts'
import type { Head } from '../../../shared/core/task/head.ts'
import type { DiagnosticSystem, PlanningSystem } from '../../../shared/runtime/kernel/system.ts'
import { createSeededChance } from '../../../shared/testing/stores/chance.ts'
import { createManualClock } from '../../support/ports/clock.ts'
import { NOW } from '../../support/tasks/a-task.ts'
import { type Names, walk } from './names.ts'
import { recordingDocuments, recordingMessages, recordingSqs, recordingTimers } from './recorder.ts'

/** The AWS adapters. Their requests are not sent; only the names in them are recorded. */
export type Mirror = {
  readonly ports: Pick<
    PlanningSystem & Pick<DiagnosticSystem, 'deadLetters'>,
    | 'tasks'
    | 'types'
    | 'canvases'
    | 'limits'
    | 'turns'
    | 'failures'
    | 'activity'
    | 'deadLetters'
    | 'records'
    | 'targets'
    | 'workers'
    | 'messages'
    | 'timers'
  >
  /** Records the names in the whole head, and in the events of its last change. */
  noteHead(head: Head): void
  publishEvents(events: readonly BatonEvent[]): void
  /** The wake messages that were sent, one of each form. */
  wakes(): readonly string[]
}

export function createMirror(names: Names): Mirror {
  const documents = recordingDocuments(names)
  const clock = createManualClock(NOW)
  const settings = { table: 'tasks', newWriteId: () => 'token', clock, chance: createSeededChance(1) }
  const wakes = new Map<string, string>()
  const sent = (body: string) => {
    const message = JSON.parse(body) as Record<string, unknown>
    if (message.kind !== undefined) wakes.set(`${message.kind} ${Object.keys(message)}`, body)
  }
  const codec = createTaskCodec({
    task: async () => {
      throw new Error('nothing is read here')
    },
  })
  const lateEventQueue = createLateEventQueue(recordingSqs(names, sent), 'https://sqs/1/wake')
  const bridge = createEventBridge(recordingBus(names), { bus: 'bus', system: 'baton' })
  const publishEvents = (events: readonly BatonEvent[]) => {
    void bridge.publish(events)
    void lateEventQueue.put([{ events, hops: 1, delaySeconds: 2 }])
  }
  return {
    ports: {
      tasks: createTaskStore(documents, settings),
      types: createTypeStore(documents, settings),
      canvases: createCanvasStore(documents, settings),
      limits: createLimitStore(documents, settings),
      turns: createTurnStore(documents, settings),
      failures: createFailureStore(documents, settings),
      activity: createActivityStore(documents, settings),
      deadLetters: createDeadLetterStore(documents, settings),
      records: createRecordStore(documents, settings),
      targets: createTargets(documents, settings),
      workers: createWorkerStore(documents, settings),
      messages: recordingMessages(names, codec, sent),
      timers: recordingTimers(names),
    },
    noteHead: task => {
      void documents.put({ TableName: 'tasks', Item: headItem(task) })
      const events = eventsOf(task)
      if (events.length > 0) publishEvents(events)
    },
    publishEvents,
    wakes: () => [...wakes.values()],
  }
}

/** A bus that notes the names in the events that are put on it. */
function recordingBus(names: Names): EventBridgeClient {
  const send = async ({ input }: { input: { Entries: ReadonlyArray<Record<string, string>> } }) => {
    for (const { Source, DetailType, Detail = '' } of input.Entries) {
      names.add('Events: sources and detail types', `${Source}: ${DetailType}`)
      walk(JSON.parse(Detail), '', path => names.add('Events: fields of a detail', path))
    }
    return {}
  }
  return { send } as unknown as EventBridgeClient
}
