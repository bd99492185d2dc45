/**
 * The HTTP API: API Gateway, its access log and throttle, the function that answers most routes, and the function in which
 * HTTP workers wait for tasks. `permissions/api-access.ts` lists the routes that a principal may be granted.
 */

import { readFileSync } from 'node:fs'
import { Duration } from 'aws-cdk-lib'
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway'
import * as apigateway from 'aws-cdk-lib/aws-apigatewayv2'
import { HttpIamAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers'
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'
import { illegal } from '../../shared/core/values/values.ts'
import { watchServerErrors } from '../alarms.ts'
import { systemCode } from '../bundling/bundling.ts'
import type { AllowedRoute } from '../permissions/api-access.ts'
import type { Grantee, RolePolicies } from '../permissions/permissions.ts'
import { EVERY_QUEUE, type Parts } from '../queues.ts'
import { PUBLISHER_ACCESS } from '../task-table.ts'
import { createFunction } from './functions.ts'

/** An HTTP API gives up after 30 s, and a claim waits up to 20 s. Source: API Gateway quotas. */
const API_TIMEOUT_S = 29
/**
 * Memory of the claims function: it holds an answer of 5 MB and the bundle with room to spare. With half of it, an empty
 * poll takes twice as long and costs the same.
 */
const CLAIMS_MEMORY_MB = 256
/**
 * With this delay a worker finds a task after a second on average. A poll takes some 5 read units, so an idle worker costs $2
 * to $3 a month.
 */
const CLAIM_RETRY_MS = 2_000
const CLAIM_RETRY_MS_MIN = 500
/** The longest legal `retryAfterMs`. It is shorter than the 30 s after which a silent worker counts as gone. */
const CLAIM_RETRY_MS_MAX = 20_000
/** How many claims may wait at a time by default: a twentieth of an account's usual 1,000 executions. */
const CLAIMS_WAITING_MAX = 50
/** The share of the reserved executions in which claims may wait. The others answer claims that find their task at once. */
const CLAIMS_WAITING_SHARE = 0.8
/** A fifth of the rate that all APIs of an account share. Source: API Gateway quotas, 10,000 requests per second. */
const API_REQUESTS_PER_S = 2_000
const API_BURST = 2_000
const CORS_MAX_AGE_S = 3_600

/** `iam`: requests are signed (SigV4) by principals that may invoke the API. `none`: every caller is accepted. */
export type ApiAuth = 'iam' | 'none'

/** The headers of a signed request with a JSON body. */
const CORS_HEADERS = [
  'authorization',
  'content-type',
  'x-amz-content-sha256',
  'x-amz-date',
  'x-amz-security-token',
]

const STAGE = '$default'

export type ApiProps = {
  /** Writes one line of JSON per request into a log group of its own. @default false */
  readonly accessLog?: boolean | { readonly retention: RetentionDays }
  /**
   * Above this rate (requests per second) or burst, API Gateway answers 429. All APIs of an account share 10,000 per second.
   * @default { requestsPerSecond: 2,000, burst: 2,000 }
   */
  readonly throttle?: { readonly requestsPerSecond: number; readonly burst: number }
  /** Lets web pages of these origins call the API. @default no web page may call it */
  readonly cors?: { readonly origins: readonly string[]; readonly headers?: readonly string[] }
  /** How HTTP workers wait for tasks. */
  readonly claims?: ClaimsProps
  /** The base path of your custom domain for this API, such as `/tasks`. @default none */
  readonly basePath?: string
}

type TaskApiProps = ApiProps & {
  readonly auth: ApiAuth
  readonly reservedConcurrency: { readonly api?: number; readonly claims?: number }
}

/** The HTTP API: a function for claims, which may wait, and one behind every other route. */
export class TaskApi extends Construct {
  readonly function: LambdaFunction
  readonly claims: LambdaFunction
  readonly url: string
  private readonly http: apigateway.HttpApi
  private readonly policies: RolePolicies

  constructor(scope: Construct, id: string, parts: Parts, props: TaskApiProps) {
    super(scope, id)
    const { settings, table, messages } = parts
    this.policies = parts.policies
    this.function = createFunction(this, settings, {
      code: systemCode(this, 'api'),
      description: 'Baton: HTTP API',
      timeout: Duration.seconds(API_TIMEOUT_S),
      environment: { BATON_PACKAGE_VERSION: packageVersion(), ...basePathIn(props.basePath) },
      reservedConcurrency: props.reservedConcurrency.api,
    })
    table.openTo(this.function, {
      items: ['GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem', 'DeleteItem'],
      queries: ['items', 'view', 'place', 'owner'],
    })
    // The reason why a task waits names the number of messages in the queue of its type. Dead letters are sent again to the queues.
    messages.openTo(this.function, { ...EVERY_QUEUE, measures: ['types'] })
    this.claims = createClaims(new Construct(this, 'Claims'), parts, props)
    this.http = this.createHttp(parts, props)
    this.http.addRoutes({
      path: '/v1/claims',
      methods: [apigateway.HttpMethod.POST],
      integration: new HttpLambdaIntegration('ClaimsIntegration', this.claims),
    })
    if (props.cors) this.answerPreflights()
    this.addStage(parts, props)
    this.url = this.http.apiEndpoint
    watchServerErrors(this, settings, this.http)
  }

  /** Allows `grantee` to call these routes, and sets `BATON_URL` to the API's URL. */
  openTo(grantee: Grantee, routes: readonly AllowedRoute[]): void {
    grantee.addEnvironment('BATON_URL', this.url)
    // The ARN names the stage: a pattern for any stage would also match a longer path that ends like the route.
    const resources = routes.map(({ method, path }) => this.http.arnForExecuteApi(method, path, STAGE))
    this.policies.add(grantee, () => ({ actions: ['execute-api:Invoke'], resources }))
  }

  private createHttp({ settings }: Parts, { auth, cors }: TaskApiProps): apigateway.HttpApi {
    return new apigateway.HttpApi(this, 'Http', {
      apiName: settings.system,
      description: 'Baton: HTTP API',
      defaultIntegration: new HttpLambdaIntegration('Integration', this.function),
      defaultAuthorizer: auth === 'iam' ? new HttpIamAuthorizer() : new apigateway.HttpNoneAuthorizer(),
      createDefaultStage: false,
      ...(cors && {
        corsPreflight: {
          allowOrigins: [...cors.origins],
          allowMethods: [apigateway.CorsHttpMethod.ANY],
          allowHeaders: [...(cors.headers ?? CORS_HEADERS)],
          exposeHeaders: ['location', 'retry-after', 'x-request-id'],
          maxAge: Duration.seconds(CORS_MAX_AGE_S),
        },
      }),
    })
  }

  /** A browser sends its preflight unsigned. API Gateway answers it from the CORS settings only if no authorizer refuses it. */
  private answerPreflights(): void {
    this.http.addRoutes({
      path: '/{proxy+}',
      methods: [apigateway.HttpMethod.OPTIONS],
      integration: new HttpLambdaIntegration('PreflightIntegration', this.function),
      authorizer: new apigateway.HttpNoneAuthorizer(),
    })
  }

  /** The stage has the id of CDK's default stage. CDK's own default stage can have neither a throttle nor an access log. */
  private addStage({ settings }: Parts, { throttle, accessLog = false }: TaskApiProps): void {
    const { requestsPerSecond = API_REQUESTS_PER_S, burst = API_BURST } = throttle ?? {}
    this.http.addStage('DefaultStage', {
      stageName: STAGE,
      autoDeploy: true,
      throttle: { rateLimit: requestsPerSecond, burstLimit: burst },
      ...(accessLog && {
        accessLogSettings: {
          destination: new apigateway.LogGroupLogDestination(
            new LogGroup(this, 'AccessLog', {
              retention: accessLog === true ? settings.logRetention : accessLog.retention,
              removalPolicy: settings.logRemovalPolicy,
            }),
          ),
          format: ACCESS_LOG_FORMAT,
        },
      }),
    })
  }
}

/** The version of this package: the version of the repository, or of the installed package. */
function packageVersion(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { readonly version: string }).version
}

/** One line of the access log: the caller, the request, its status and duration. Source: API Gateway, access log variables of HTTP APIs. */
const ACCESS_LOG_FORMAT = AccessLogFormat.custom(
  JSON.stringify({
    requestId: '$context.requestId',
    at: '$context.requestTime',
    ip: '$context.identity.sourceIp',
    caller: '$context.identity.userArn',
    method: '$context.httpMethod',
    path: '$context.path',
    status: '$context.status',
    bytes: '$context.responseLength',
    latencyMs: '$context.responseLatency',
    error: '$context.integrationErrorMessage',
  }),
)

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

/** Creates the function of `POST /v1/claims`, where HTTP workers wait for tasks, apart from the rest of the API. */
function createClaims(
  scope: Construct,
  { settings, table, messages }: Parts,
  { claims, basePath, reservedConcurrency }: TaskApiProps,
): LambdaFunction {
  const fn = createFunction(scope, settings, {
    code: systemCode(scope, 'claims'),
    description: 'Baton: hands tasks to HTTP workers, which may wait for them',
    timeout: Duration.seconds(API_TIMEOUT_S),
    memorySize: CLAIMS_MEMORY_MB,
    environment: { ...claimsEnvironment(claims, reservedConcurrency.claims), ...basePathIn(basePath) },
    reservedConcurrency: reservedConcurrency.claims,
  })
  // The function claims tasks of every type. The planner publishes the events of these claims.
  table.openTo(fn, PUBLISHER_ACCESS)
  messages.openTo(fn, {})
  return fn
}

/** The variable by which the functions find their routes behind the base path of a custom domain. */
function basePathIn(basePath: string | undefined): Record<string, string> {
  if (basePath === undefined) return {}
  if (/^(\/[\w.~-]+)+$/.test(basePath)) return { BATON_BASE_PATH: basePath }
  throw illegal(`api.basePath is '${basePath}'; give a path such as '/tasks', without an end slash`)
}

function claimsEnvironment(props: ClaimsProps = {}, reserved?: number): Record<string, string> {
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
  throw illegal(`claims.${name} is ${value}; give a whole number ${range}`)
}
