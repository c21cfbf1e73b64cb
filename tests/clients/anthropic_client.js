// The Anthropic package for Node against `lattice serve` with the models of scripted_model.py. Usage:
// anthropic_client.js URL
const assert = require("assert");
const { Anthropic } = require("@anthropic-ai/sdk");

async function main() {
  const client = new Anthropic({ baseURL: process.argv[2], apiKey: "none", maxRetries: 0 });
  const schema = { type: "object", properties: { city: { type: "string" } } };
  const tools = [{ name: "weather", input_schema: schema }];
  const ask = { model: "hermes", max_tokens: 200, messages: [{ role: "user", content: "weather" }], tools };

  const whole = await client.messages.create(ask);
  assert.deepStrictEqual(whole.content.map((block) => block.type), ["text", "tool_use"]);
  assert.deepStrictEqual(whole.content[1].input, { city: "Paris", days: 2.5 });

  let text = "";
  const stream = client.messages.stream(ask).on("text", (piece) => { text += piece; });
  const last = await stream.finalMessage();
  assert.strictEqual(text, "Let me see.");
  assert.deepStrictEqual(last.content[1].input, whole.content[1].input);
  assert.strictEqual(last.stop_reason, "tool_use");

  const asked = [];
  const runner = client.beta.messages.toolRunner({
    ...ask, tools: [{ ...tools[0], run: (input) => { asked.push(input.city); return "sunny"; } }] });
  assert.strictEqual((await runner).content[0].text, "It is sunny, as the tool says.");
  assert.deepStrictEqual(asked, ["Paris"]);

  const count = await client.messages.countTokens({ model: "hermes", messages: ask.messages, tools });
  assert.strictEqual(count.input_tokens, whole.usage.input_tokens);
  await assert.rejects(client.messages.create({ ...ask, messages: [] }), (error) => error.status === 400);
  console.log("ok");
}

main().catch((error) => { console.error(error); process.exit(1); });
