import { MESSAGE_LIFE_MS } from '../../../../shared/core/bounds.ts'
import { createSeededChance } from '../../../../shared/testing/stores/chance.ts'
import type { World } from '../world.ts'

/** One delivery of a message. A later delivery of the same message has another receipt. */
export type Received = { readonly messageId: string; readonly body: string; readonly receipt: number }

/**
 * A queue as in SQS. It delivers at least once and in no order, and hides a received message for its
 * visibility timeout. It deletes a message after four days, as Baton's queues are set up. The weather also loses,
 * doubles and delays messages.
 */
export type Queue = {
  send(body: string, delaySeconds: number): void
  /** Receives at most `max` visible messages. */
  receive(max: number): Received[]
  delete(received: Received): void
  /** Deletes the queue with all its messages. */
  drop(): void
  visible(): number
  /** Calls `look` whenever a message may have become visible, until the returned function is called. */
  onVisible(look: () => void): () => void
}

/** The longest lag of a usual message: a queue delivers within milliseconds. */
const LAG_MS_MAX = 15
const LATE_MS_MAX = 20_000
/** A message that was received this often goes to the dead-letter queue. */
const RECEIVES_MAX = 10

type Message = {
  readonly messageId: string
  readonly body: string
  readonly sentAt: number
  visibleAt: number
  receives: number
}

export function createQueue(world: World, name: string, visibilityMs: number): Queue {
  const { timeline, history } = world
  const chance = createSeededChance(world.seedOf(`queue ${name}`))
  const messages = new Map<string, Message>()
  const listeners = new Set<() => void>()
  let sent = 0

  const announceAt = (time: number) =>
    timeline.at(time, () => {
      for (const look of [...listeners]) look()
    })
  const note = (text: () => string) => history.note(timeline.now(), `queue ${name}`, text)

  const put = (body: string, delayMs: number) => {
    sent += 1
    const isLate = chance.fraction() < world.weather().messageLate
    const lag = chance.fraction() * (isLate ? LATE_MS_MAX : LAG_MS_MAX)
    const message = {
      messageId: `${name}/${sent}`,
      body,
      sentAt: timeline.now(),
      visibleAt: timeline.now() + delayMs + lag,
      receives: 0,
    }
    messages.set(message.messageId, message)
    announceAt(message.visibleAt)
  }
  const isVisible = ({ visibleAt, sentAt }: Message) =>
    visibleAt <= timeline.now() && timeline.now() < sentAt + MESSAGE_LIFE_MS
  const isLatest = ({ messageId, receipt }: Received) => messages.get(messageId)?.receives === receipt

  return {
    send: (body, delaySeconds) => {
      history.record({ at: timeline.now(), by: name, what: 'sent', queue: name })
      const weather = world.weather()
      if (world.loses('message') || chance.fraction() < weather.messageLost)
        return note(() => 'loses a message')
      put(body, delaySeconds * 1_000)
      if (chance.fraction() < weather.messageDoubled) put(body, delaySeconds * 1_000)
    },
    receive: max => {
      const shuffled = [...messages.values()]
        .filter(isVisible)
        .map(message => ({ message, order: chance.fraction() }))
      const picked = shuffled.sort((a, b) => a.order - b.order).slice(0, max)
      return picked.flatMap(({ message }) => {
        message.receives += 1
        message.visibleAt = timeline.now() + visibilityMs
        if (message.receives > RECEIVES_MAX) {
          messages.delete(message.messageId)
          note(() => `moves ${message.messageId} to the dead-letter queue`)
          return []
        }
        announceAt(message.visibleAt)
        return [{ messageId: message.messageId, body: message.body, receipt: message.receives }]
      })
    },
    delete: received => {
      if (isLatest(received)) messages.delete(received.messageId)
    },
    drop: () => {
      messages.clear()
      listeners.clear()
    },
    visible: () => [...messages.values()].filter(isVisible).length,
    onVisible: look => {
      listeners.add(look)
      return () => listeners.delete(look)
    },
  }
}
