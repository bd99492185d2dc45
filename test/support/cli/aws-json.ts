import { type AwsAnswer, type AwsCall, refusal } from './an-aws.ts'

/** What Systems Manager, Lambda and SQS know. */
export type FakeServices = {
  readonly parameters: Record<string, string>
  /** The configurations of functions by their names. */
  readonly functions: Record<string, object>
  /** The event source mappings of the account, one on each page. */
  readonly mappings: Array<{ readonly UUID: string } & Readonly<Record<string, string>>>
  /** The attributes of queues by their URLs. */
  readonly queues: Record<string, Record<string, string>>
}

export function answerInJson(
  call: AwsCall,
  { parameters, functions, mappings, queues }: FakeServices,
): AwsAnswer {
  const missing = (code: string) =>
    refusal(call, call.service === 'lambda' ? 404 : 400, code, 'there is none')
  switch (call.action) {
    case 'GetParameter': {
      const { Name } = JSON.parse(call.body)
      const Value = parameters[Name]
      return Value === undefined ? missing('ParameterNotFound') : found({ Parameter: { Name, Value } })
    }
    case 'GetFunctionConfiguration': {
      const configuration = functions[decodeURIComponent(call.url.pathname.split('/')[3] ?? '')]
      return configuration ? found(configuration) : missing('ResourceNotFoundException')
    }
    case 'ListEventSourceMappings': {
      const at = Number(call.url.searchParams.get('Marker') ?? 0)
      const more = at + 1 < mappings.length && { NextMarker: String(at + 1) }
      return found({ EventSourceMappings: mappings.slice(at, at + 1), ...more })
    }
    case 'GetQueueAttributes': {
      const Attributes = queues[JSON.parse(call.body).QueueUrl]
      return Attributes ? found({ Attributes }) : missing('QueueDoesNotExist')
    }
    default:
      throw new Error(`nothing answers ${call.service} ${call.action}`)
  }
}

function found(document: object): AwsAnswer {
  return { status: 200, body: JSON.stringify(document) }
}
