/**
 * The HTTP API: API Gateway, its access log and throttle, the function that answers most routes, and `claims.ts`, the function
 * in which HTTP workers wait for tasks. `permissions/api-access.ts` lists the routes that a principal may be granted.
 */

import { readFileSync } from 'node:fs'
import { Duration } from 'aws-cdk-lib'
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway'
import {
  CorsHttpMethod,
  HttpApi,
  HttpMethod,
  HttpNoneAuthorizer,
  LogGroupLogDestination,
} from 'aws-cdk-lib/aws-apigatewayv2'
import { HttpIamAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers'
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'
import { API_BURST, API_REQUESTS_PER_S, API_TIMEOUT_S, CORS_MAX_AGE_S } from '../bounds.ts'
import { systemCode } from '../bundling/system-code.ts'
import { createFunction, reserving } from '../functions/functions.ts'
import { watchServerErrors } from '../monitoring/alarms.ts'
import type { Parts } from '../parts.ts'
import type { AllowedRoute } from '../permissions/api-access.ts'
import type { Grantee } from '../permissions/permissions.ts'
import type { RolePolicies } from '../permissions/role-policies.ts'
import { basePathIn, Claims, type ClaimsProps } from './claims.ts'

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

export type TaskApiProps = ApiProps & {
  readonly auth: ApiAuth
  readonly reservedConcurrency: { readonly api?: number; readonly claims?: number }
}

/** The HTTP API: a function for claims, which may wait, and one behind every other route. */
export class TaskApi extends Construct {
  readonly function: LambdaFunction
  readonly claims: LambdaFunction
  readonly url: string
  private readonly http: HttpApi
  private readonly policies: RolePolicies

  constructor(scope: Construct, id: string, parts: Parts, props: TaskApiProps) {
    super(scope, id)
    const { settings, table, messages } = parts
    const { reservedConcurrency } = props
    this.policies = parts.policies
    this.function = createFunction(this, settings, {
      code: systemCode(this, 'api'),
      description: 'Baton: HTTP API',
      timeout: Duration.seconds(API_TIMEOUT_S),
      environment: { BATON_PACKAGE_VERSION: packageVersion(), ...basePathIn(props) },
      ...reserving(reservedConcurrency.api),
    })
    table.openTo(this.function, {
      items: ['GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem', 'DeleteItem'],
      queries: ['items', 'view', 'place', 'owner'],
    })
    // The reason why a task waits names the number of messages in the queue of its type. Dead letters are sent again to the queues.
    messages.openTo(this.function, {
      wakes: true,
      jobs: true,
      dispatchesTo: 'every-type',
      measures: ['types'],
    })
    this.claims = new Claims(this, 'Claims', parts, props, reservedConcurrency.claims).function
    this.http = this.createHttp(parts, props)
    this.http.addRoutes({
      path: '/v1/claims',
      methods: [HttpMethod.POST],
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

  private createHttp({ settings }: Parts, { auth, cors }: TaskApiProps): HttpApi {
    return new HttpApi(this, 'Http', {
      apiName: settings.system,
      description: 'Baton: HTTP API',
      defaultIntegration: new HttpLambdaIntegration('Integration', this.function),
      defaultAuthorizer: auth === 'iam' ? new HttpIamAuthorizer() : new HttpNoneAuthorizer(),
      createDefaultStage: false,
      ...(cors && {
        corsPreflight: {
          allowOrigins: [...cors.origins],
          allowMethods: [CorsHttpMethod.ANY],
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
      methods: [HttpMethod.OPTIONS],
      integration: new HttpLambdaIntegration('PreflightIntegration', this.function),
      authorizer: new HttpNoneAuthorizer(),
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
          destination: new LogGroupLogDestination(
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

/** The version of this package: the repository's, or that of the installed package. */
function packageVersion(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { readonly version: string }).version
}

/**
 * One line of the access log: the caller, the request, its status and duration. Source: API Gateway, access log variables of
 * HTTP APIs.
 */
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
