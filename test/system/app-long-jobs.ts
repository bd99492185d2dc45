import { App, Fn, RemovalPolicy, Stack } from 'aws-cdk-lib'
import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import { CfnFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { TaskSystem } from '../../infra/task-system.ts'

/** A system for long jobs. With `BATON_ONE_QUEUE`, long jobs go to the wake queue, as before they had a queue of their own. */
const stack = new Stack(new App(), 'Baton')
const tasks = new TaskSystem(stack, 'Tasks', { removalPolicy: RemovalPolicy.DESTROY, webhook: false })

if (process.env.BATON_ONE_QUEUE) {
  const all = stack.node.findAll()
  const wake = all.find(({ node }) => node.path.endsWith('Messages/Wake/Queue/Resource'))
  if (!wake) throw new Error('there is no wake queue')
  const wakeId = stack.getLogicalId(wake as CfnFunction)
  const toWaker = { Ref: wakeId }
  tasks.api.function.addToRolePolicy(
    new PolicyStatement({ actions: ['sqs:SendMessage'], resources: [Fn.getAtt(wakeId, 'Arn').toString()] }),
  )
  const sweeper = all.find(({ node }) => node.path.endsWith('Sweeper/Function'))
  if (!(sweeper instanceof LambdaFunction)) throw new Error('there is no sweeper')
  // The sweeper asks how many messages wait in the jobs queue before it replaces the message of a silent canvas.
  sweeper.addToRolePolicy(
    new PolicyStatement({
      actions: ['sqs:GetQueueAttributes'],
      resources: [Fn.getAtt(wakeId, 'Arn').toString()],
    }),
  )
  for (const one of all) {
    if (one instanceof CfnFunction) {
      one.addPropertyOverride('Environment.Variables.BATON_JOBS_QUEUE_URL', toWaker)
    }
  }
}
