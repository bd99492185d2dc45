import {
  BEAT_OPERATION,
  FREED_ATTRIBUTE,
  HEAD_SORT_KEY,
  LINE_SORT_KEYS,
  NOTED_ATTRIBUTE,
  OPERATION_ATTRIBUTE,
  PERMITS_SORT_KEY,
  SLOTS_SORT_KEY,
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
  // Permits and slots that were given back. One that is taken does not match.
  {
    eventName: ['MODIFY'],
    dynamodb: {
      Keys: { sk: { S: [PERMITS_SORT_KEY, SLOTS_SORT_KEY] } },
      NewImage: { [FREED_ATTRIBUTE]: { N: [{ exists: true }] } },
    },
  },
  // Lines that have just been noted.
  {
    eventName: ['INSERT', 'MODIFY'],
    dynamodb: {
      Keys: { sk: { S: Object.values(LINE_SORT_KEYS) } },
      NewImage: { [NOTED_ATTRIBUTE]: { N: [{ exists: true }] } },
    },
  },
]
