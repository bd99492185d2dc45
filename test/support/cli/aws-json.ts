import { type AwsAnswer, type AwsCall, refusal } from './an-aws.ts'

/** What Systems Manager, Lambda and SQS know, and CloudWatch. */
export type FakeServices = {
  readonly parameters: Record<string, string>
  /** The configurations of functions by their names. */
  readonly functions: Record<string, object>
  /** The event source mappings of the account, one on each page. */
  readonly mappings: Array<{ readonly UUID: string } & Readonly<Record<string, string>>>
  /** The attributes of queues by their URLs. */
  readonly queues: Record<string, Record<string, string>>
  /** The names of alarms that have gone off. */
  readonly alarms: readonly string[]
}

export function answerInJson(
  call: AwsCall,
  { parameters, functions, mappings, queues, alarms }: FakeServices,
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
    case 'DescribeAlarms':
      return found({ MetricAlarms: alarmsOf(JSON.parse(call.body).AlarmNames, alarms) })
    default:
      throw new Error(`nothing answers ${call.service} ${call.action}`)
  }
}

function found(document: object): AwsAnswer {
  return { status: 200, body: JSON.stringify(document) }
}

/** Those of the asked alarms that have gone off. One with `NoData` in its name has no data, and others than `Needed` ignore that. */
function alarmsOf(asked: readonly string[], alarms: readonly string[]): object[] {
  return alarms
    .filter(name => asked.includes(name))
    .map(name => ({
      AlarmName: name,
      // An alarm that was set off by hand may have no reason.
      ...(!name.includes('SetByHand') && { StateReason: `${name}: 1 > 0` }),
      StateValue: name.includes('NoData') ? 'INSUFFICIENT_DATA' : 'ALARM',
      TreatMissingData: name.includes('Needed') ? 'missing' : 'notBreaching',
    }))
}
