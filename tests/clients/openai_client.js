// The openai package for Node against `lattice serve` with the models of scripted_model.py. Usage: openai_client.js URL
const assert = require("assert");
const OpenAI = require("openai");

async function main() {
  const client = new OpenAI({ baseURL: process.argv[2], apiKey: "none", maxRetries: 0 });
  const messages = [{ role: "user", content: "weather" }];
  const parameters = { type: "object", properties: { city: { type: "string" } } };
  const tools = [{ type: "function", function: { name: "weather", parameters } }];
  const ask = { model: "hermes", messages, tools, temperature: 0 };

  const whole = await client.chat.completions.create(ask);
  const call = whole.choices[0].message.tool_calls[0];
  assert.deepStrictEqual(JSON.parse(call.function.arguments), { city: "Paris", days: 2.5 });

  const stream = client.chat.completions.stream(ask);
  const last = await stream.finalChatCompletion();
  assert.strictEqual(last.choices[0].finish_reason, "tool_calls");
  assert.strictEqual(last.choices[0].message.tool_calls[0].function.arguments, call.function.arguments);
  assert.strictEqual(last.choices[0].message.content, "Let me see.");

  const asked = [];
  const runner = client.chat.completions.runTools({
    ...ask,
    tools: [{ type: "function", function: {
      name: "weather", parameters, parse: JSON.parse, function: (args) => { asked.push(args.city); return "sunny"; } } }],
  });
  assert.strictEqual(await runner.finalContent(), "It is sunny, as the tool says.");
  assert.deepStrictEqual(asked, ["Paris"]);

  const response = await client.responses.create({ model: "hermes", input: "hello", temperature: 0 });
  assert.strictEqual(response.output_text, "Hello there, friend.");
  const events = client.responses.stream({ model: "hermes", input: "ponder", temperature: 0 });
  assert.strictEqual((await events.finalResponse()).output_text, "Three, I guess.");

  const vectors = await client.embeddings.create({ model: "bert", input: ["a", "b"] });
  assert.strictEqual(vectors.data.length, 2);
  await assert.rejects(client.chat.completions.create({ ...ask, messages: [] }), (error) => error.status === 400);
  console.log("ok");
}

main().catch((error) => { console.error(error); process.exit(1); });
