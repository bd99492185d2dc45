/**
 * The composition root: it makes a function's system from the environment, the AWS clients and Powertools.
 * `compose-timers.ts` adds Scheduler and `compose-events.ts` adds EventBridge, for the functions that need them.
 */

import { Logger } from '@aws-lambda-powertools/logger'
import { Metrics as PowertoolsMetrics } from '@aws-lambda-powertools/metrics'
import type { HeadReader } from '../../shared/aws/dynamo/head/head-reader.ts'
import { systemOfEnvironment } from '../../shared/aws/environment.ts'
import type { ReceivingSystem } from '../../shared/aws/system.ts'
import { createAwsHeadReader, createAwsSystem, createReceivingSystem } from '../../shared/aws/system.ts'
import { EVERY_TYPE } from '../../shared/core/bounds.ts'
import type { Log, MetricName, Metrics } from '../../shared/ports/machine.ts'
import { withPlainErrors } from '../../shared/runtime/handler/run-log.ts'
import type { System } from '../../shared/runtime/kernel/system.ts'

/** Composes the system of a function from its environment. */
export function composeSystem(): System {
  return createAwsSystem({ ...systemOfEnvironment(), log, metrics })
}

/** Composes the system of a function that receives dispatches from a queue, and the parts that read them. */
export function composeReceivingSystem(): ReceivingSystem {
  return createReceivingSystem({ ...systemOfEnvironment(), log, metrics })
}

/** Makes the reader of heads in records of the table's stream. */
export function composeHeadReader(): HeadReader {
  return createAwsHeadReader(systemOfEnvironment())
}

const logger = new Logger()

export const log: Log = {
  debug: (message, fields = {}) => logger.debug(message, withPlainErrors(fields)),
  info: (message, fields = {}) => logger.info(message, withPlainErrors(fields)),
  warn: (message, fields = {}) => logger.warn(message, withPlainErrors(fields)),
  error: (message, fields = {}) => logger.error(message, withPlainErrors(fields)),
}

const UNITS = {
  Lateness: 'Milliseconds',
  RunTime: 'Milliseconds',
  ClaimConflict: 'Count',
  LeaseLost: 'Count',
  LookLoop: 'Count',
  UnscheduledMinute: 'Count',
  SweeperRepaired: 'Count',
  Stuck: 'Count',
  NeedsAttention: 'Count',
  Published: 'Count',
  Succeeded: 'Count',
  Failed: 'Count',
  Retried: 'Count',
  TaskFault: 'Count',
} as const satisfies Record<MetricName, string>

/** Metrics that are also kept per type: `Lateness:resize` for one type, or `Failed:*` for every type. */
const keptByType = new Set((process.env.BATON_TYPE_METRICS ?? '').split(','))

/** One store per task type, because all metrics that a store writes together have the same dimensions. */
const storeByType = new Map<string, PowertoolsMetrics>()

export const metrics: Metrics = {
  add: (name, value, type) => {
    store(name, value, EVERY_TYPE)
    const isKept = [`${name}:${EVERY_TYPE}`, `${name}:${type}`].some(kept => keptByType.has(kept))
    if (isKept && type !== EVERY_TYPE) store(name, value, type)
  },
}

function store(name: MetricName, value: number, type: string): void {
  let typeStore = storeByType.get(type)
  if (!typeStore) {
    typeStore = new PowertoolsMetrics({ defaultDimensions: { type } })
    storeByType.set(type, typeStore)
  }
  typeStore.addMetric(name, UNITS[name], value)
}

/** Writes the metrics of this invocation. Handlers call it in `finally`, before they answer. */
export function flushMetrics(): void {
  for (const typeStore of storeByType.values()) {
    if (typeStore.hasStoredMetrics()) typeStore.publishStoredMetrics()
  }
}
