import { Duration } from 'aws-cdk-lib'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import { BatonError } from '../../shared/core/errors.ts'
import {
  API_TIMEOUT_S,
  CLAIM_RETRY_MS,
  CLAIM_RETRY_MS_MAX,
  CLAIM_RETRY_MS_MIN,
  CLAIMS_MEMORY_MB,
  CLAIMS_WAITING_MAX,
  CLAIMS_WAITING_SHARE,
} from '../bounds.ts'
import { systemCode } from '../bundling/system-code.ts'
import { createFunction, reserving } from '../functions/functions.ts'
import type { Parts } from '../parts.ts'
import { PUBLISHER_ACCESS } from '../task-table.ts'

export type ClaimsProps = {
  /** The delay after which an idle worker asks again, in milliseconds, 500–20,000. @default 2,000 */
  readonly retryAfterMs?: number
  /**
   * How many claims may wait for more than a second at the same time. Each holds an execution. Further claims are answered with
   * 429.
   * @default four fifths of `reservedConcurrency.claims`, else 50
   */
  readonly maxWaiting?: number
}

/** Serves `POST /v1/claims`, where HTTP workers wait for tasks, apart from the rest of the API. */
export class Claims extends Construct {
  readonly function: LambdaFunction

  constructor(
    scope: Construct,
    id: string,
    { settings, table, messages }: Parts,
    props: { readonly claims?: ClaimsProps; readonly basePath?: string },
    reservedConcurrency?: number,
  ) {
    super(scope, id)
    this.function = createFunction(this, settings, {
      code: systemCode(this, 'claims'),
      description: 'Baton: hands tasks to HTTP workers, which may wait for them',
      timeout: Duration.seconds(API_TIMEOUT_S),
      memorySize: CLAIMS_MEMORY_MB,
      environment: { ...environmentFor(props.claims ?? {}, reservedConcurrency), ...basePathIn(props) },
      ...reserving(reservedConcurrency),
    })
    // The function claims tasks of every type. The planner publishes the events of these claims.
    table.openTo(this.function, PUBLISHER_ACCESS)
    messages.openTo(this.function, {})
  }
}

/** The variable by which the functions find their routes behind the base path of a custom domain. */
export function basePathIn({ basePath }: { readonly basePath?: string }): Record<string, string> {
  if (basePath === undefined) return {}
  if (/^(\/[\w.~-]+)+$/.test(basePath)) return { BATON_BASE_PATH: basePath }
  throw new BatonError(
    'invalid',
    `api.basePath is '${basePath}'; give a path such as '/tasks', without an end slash`,
  )
}

function environmentFor(props: ClaimsProps, reserved: number | undefined): Record<string, string> {
  const { retryAfterMs = CLAIM_RETRY_MS, maxWaiting = waitingOf(reserved) } = props
  refuseOutside('retryAfterMs', retryAfterMs, CLAIM_RETRY_MS_MIN, CLAIM_RETRY_MS_MAX)
  refuseOutside('maxWaiting', maxWaiting, 1, reserved ?? Number.POSITIVE_INFINITY)
  return { BATON_CLAIM_RETRY_MS: String(retryAfterMs), BATON_CLAIM_MAX_WAITING: String(maxWaiting) }
}

/** Returns how many of the reserved executions may wait. The others serve claims that find their task at once. */
function waitingOf(reserved: number | undefined): number {
  if (reserved === undefined) return CLAIMS_WAITING_MAX
  return Math.max(1, Math.floor(reserved * CLAIMS_WAITING_SHARE))
}

function refuseOutside(name: keyof ClaimsProps, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && least <= value && value <= most) return
  const range = Number.isFinite(most) ? `from ${least} to ${most}` : `of ${least} or more`
  throw new BatonError('invalid', `claims.${name} is ${value}; give a whole number ${range}`)
}
