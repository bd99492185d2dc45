import {
  BEAT_OPERATION,
  FREED_ATTRIBUTE,
  FREED_NO_WAITERS,
  HEAD_SORT_KEY,
  NOTED_ATTRIBUTE,
  OPERATION_ATTRIBUTE,
  PERMITS_SORT_KEY,
  WORKERS_PARTITION,
} from './keys.ts'

/** The records of the table's stream that the planner reads, as patterns of an event source mapping. Lambda drops all others. */
export const STREAM_FILTERS = [
  // Heads that any operation but a heartbeat has written.
  {
    eventName: ['INSERT', 'MODIFY'],
    dynamodb: {
      Keys: { sk: { S: [HEAD_SORT_KEY] } },
      NewImage: { [OPERATION_ATTRIBUTE]: { S: [{ 'anything-but': [BEAT_OPERATION] }] } },
    },
  },
  // Workers that joined or left the registry. A sign of life modifies a worker's item and does not match.
  { eventName: ['INSERT', 'REMOVE'], dynamodb: { Keys: { pk: { S: [WORKERS_PARTITION] } } } },
  // Permits that were given back while tasks wait for one. A permit that is taken does not match.
  {
    eventName: ['MODIFY'],
    dynamodb: {
      Keys: { sk: { S: [PERMITS_SORT_KEY] } },
      NewImage: { [FREED_ATTRIBUTE]: { N: [{ 'anything-but': [String(FREED_NO_WAITERS)] }] } },
    },
  },
  // Limits at which a task's wait has just been recorded.
  {
    eventName: ['MODIFY'],
    dynamodb: {
      Keys: { sk: { S: [PERMITS_SORT_KEY] } },
      NewImage: { [NOTED_ATTRIBUTE]: { N: [{ exists: true }] } },
    },
  },
]
