// Adam's first step, in learning rates: the moments begin at 0 and are corrected for it, so that m = g and v = g², and a weight
// moves by its gradient's sign: dW = -g / (sqrt(g²) + epsilon). Later steps average over many gradients.
class Adam {
  constructor(epsilon = 1e-9) { this.epsilon = epsilon; }
  step(grad) { return like(grad, g => -g * this.scale(g)); }
  scale(g) { return 1 / (Math.sqrt(g * g) + this.epsilon); }
  terms({ grad }) { return { y: i => [[-1, [grad, i], this.scale(grad.data[i])]] }; }
}
