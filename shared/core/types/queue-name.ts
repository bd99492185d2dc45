import { hash32 } from '../values/hash.ts'

/** SQS allows 80 of [A-Za-z0-9_-] in a queue's name. Source: SQS quotas. */
const QUEUE_NAME_CHARACTERS_MAX = 80
const HASH_LENGTH = 8

/**
 * The name of the queue that serves a task type. It follows from the system's name and the type alone, so no function needs a table
 * of queue URLs, which would not fit into 4 KB of environment variables. The name ends in a hash of the type when the type has a
 * dot, is too long, or could be mistaken for such a hashed name.
 */
export function queueNameOf(system: string, type: string): string {
  const plain = `${system}-q-${type}`
  const looksHashed = /-[0-9a-f]{8}$/.test(type)
  if (!type.includes('.') && !looksHashed && plain.length <= QUEUE_NAME_CHARACTERS_MAX) return plain
  const digest = hash32(type).toString(16).padStart(HASH_LENGTH, '0')
  return `${plain.replaceAll('.', '_').slice(0, QUEUE_NAME_CHARACTERS_MAX - HASH_LENGTH - 1)}-${digest}`
}
