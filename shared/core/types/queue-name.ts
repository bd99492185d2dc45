import { hash32 } from '../hash.ts'

/** SQS allows 80 of [A-Za-z0-9_-] in a queue's name. Source: SQS quotas. */
const MAX_QUEUE_NAME_LENGTH = 80
const HASH_LENGTH = 8

/**
 * Name of the queue that serves a task type, from the system's name and the type alone, so that no function needs a
 * table of queue URLs (environment variables end at 4 KB). A type with a dot, too long, or that could be
 * mistaken for such a name, gets a hash of its full name.
 */
export function queueNameOf(system: string, type: string): string {
  const plain = `${system}-q-${type}`
  const looksHashed = /-[0-9a-f]{8}$/.test(type)
  if (!type.includes('.') && !looksHashed && plain.length <= MAX_QUEUE_NAME_LENGTH) return plain
  const digest = hash32(type).toString(16).padStart(HASH_LENGTH, '0')
  return `${plain.replaceAll('.', '_').slice(0, MAX_QUEUE_NAME_LENGTH - HASH_LENGTH - 1)}-${digest}`
}
