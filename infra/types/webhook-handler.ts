import { ArnFormat, Stack } from 'aws-cdk-lib'
import type { Construct } from 'constructs'
import { WEBHOOK_CONFIGURATION, WEBHOOK_TYPE } from '../../shared/core/types/webhook-type.ts'
import type { Parts } from '../parts.ts'
import { allow } from '../permissions/permissions.ts'
import { HandlerFunction, type Shipped } from './handler-function.ts'
import type { TypeRegistrar } from './types.ts'

const SHIPPED: Shipped = {
  code: 'webhook',
  definition: { type: WEBHOOK_TYPE, config: WEBHOOK_CONFIGURATION },
}

/**
 * The shipped handler of all types of kind `webhook`. It may read the secrets that sign its calls: those named
 * `<system>/webhook/…`.
 */
export class WebhookHandler extends HandlerFunction {
  constructor(scope: Construct, id: string, parts: Parts, registrar: TypeRegistrar) {
    super(scope, id, parts, registrar, { entry: 'the shipped webhook', shipped: SHIPPED })
    const secrets = Stack.of(this).formatArn({
      service: 'secretsmanager',
      resource: 'secret',
      resourceName: `${parts.settings.system}/webhook/*`,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    })
    allow(this.function, { actions: ['secretsmanager:GetSecretValue'], resources: [secrets] })
  }
}
