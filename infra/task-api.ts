import { Duration } from 'aws-cdk-lib'
import { HttpApi, HttpNoneAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2'
import { HttpIamAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers'
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import { watchServerErrors } from './alarms.ts'
import { functionFile } from './function-file.ts'
import { allow } from './grants.ts'
import { API_TIMEOUT_S } from './limits.ts'
import type { Parts } from './parts.ts'
import { createFunction, reserving } from './system-function.ts'

/** `iam`: requests are signed (SigV4) by principals that may invoke the API. `none`: anyone may call it. */
export type ApiAuth = 'iam' | 'none'

/** The HTTP API: one function behind every route. */
export class TaskApi extends Construct {
  readonly function: LambdaFunction
  readonly url: string
  private readonly http: HttpApi

  constructor(scope: Construct, id: string, parts: Parts, auth: ApiAuth, reservedConcurrency?: number) {
    super(scope, id)
    const { settings, table, messages } = parts
    this.function = createFunction(this, settings, {
      entry: functionFile('api.ts'),
      description: 'Baton: HTTP API',
      timeout: Duration.seconds(API_TIMEOUT_S),
      ...reserving(reservedConcurrency),
    })
    table.openTo(this.function, {
      items: ['GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem', 'DeleteItem'],
      queries: ['items', 'view', 'place', 'owner'],
    })
    messages.openTo(this.function, { wakes: true, jobs: true })
    this.http = new HttpApi(this, 'Http', {
      apiName: settings.system,
      description: 'Baton: HTTP API',
      defaultIntegration: new HttpLambdaIntegration('Integration', this.function),
      defaultAuthorizer: auth === 'iam' ? new HttpIamAuthorizer() : new HttpNoneAuthorizer(),
    })
    this.url = this.http.apiEndpoint
    watchServerErrors(this, settings, this.http)
  }

  /** Lets `fn` call every route, and tells it the URL (`BATON_URL`). */
  openTo(fn: LambdaFunction): void {
    allow(fn, {
      actions: ['execute-api:Invoke'],
      resources: [this.http.arnForExecuteApi()],
      environment: { BATON_URL: this.url },
    })
  }
}
