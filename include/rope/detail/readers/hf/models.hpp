// SPDX-License-Identifier: MIT
// Facts that Hugging Face configurations leave to the code of each model type.
#pragma once

#include "../../../version.hpp"
#include "model_type.hpp"

ROPE_DETAIL_BEGIN

/// A line or a few for types with the same properties, wrappers of a language model among them: interleaved layouts,
/// half-split ones, then models without RoPE, each by name. Source: the configuration and modeling code of transformers
/// 5.24 and of models.
// clang-format off
inline constexpr HfModel kHfModels[] = {
    interleaved_model("blt_global_transformer").with_theta(500000.0),
    interleaved_model("blt_local_decoder blt").with_theta(500000.0),
    interleaved_model("blt_local_encoder").with_theta(500000.0),
    interleaved_model("blt_patcher"),
    interleaved_model("chatglm").with_partial(0.5).with(kFixedTheta),
    interleaved_model("codegen").with_rotary_dim(64).with(kFixedTheta),
    interleaved_model("cohere").with_theta(500000.0).with_norm(kLayerNormEach, 1e-5, "layer_norm_eps")
        .norm_if("use_qk_norm", false).with(kRotatesByRoundedRows),
    interleaved_model("cohere2 aya_vision cohere2_vision").with_pattern("sssf").with(kNoRopeOnFullLayers | kRotatesByRoundedRows),
    interleaved_model("cohere2_moe").with_head_dim(128).with_pattern("sssf")
        .with(kNoRopeOnFullLayers | kDensePrefixRotates | kRotatesByRoundedRows),
    interleaved_model("deepseek_v2").with_latent_dim(64).with(kDeepSeekYarn | kFixedLayout | kRotatesInFloat),
    interleaved_model("deepseek_v4").with_pattern("z").with_rotary_dim(64).with_head_dim(512).with_norm(kRms, 1e-6)
        .with(kTrailingSlice | kYarnWithoutMagnitude | kKeysAreValues | kRotatesByRoundedRows),
    interleaved_model("dots3_note_text dots3_note").with_latent_dim(64).with_theta(80000000.0).with_pattern("sfss")
        .with_parameters(R"({"indexed_attention":{"rope_type":"default","rope_theta":80000000.0,"partial_rotary_factor":0.25},"sliding_attention":{"rope_type":"default","rope_theta":50000.0,"partial_rotary_factor":0.25}})")
        .with_norm(kRmsTwice, 1e-6).in_order("kcfrt")
        .with(kReordersFeatures | kFixedLayout | kFirstIsFull | kSlidesUnlessToldNot),
    interleaved_model("ernie4_5").with_theta(500000.0).with_head_dim(128).with(kRotatesInFloat),
    interleaved_model("ernie4_5_moe").with_theta(500000.0).with(kRotatesInFloat),
    interleaved_model("ernie4_5_vl_moe_text ernie4_5_vl_moe").with_theta(500000.0)
        .with_mrope(kAlternatingAxes, 22, 22, 20).with(kRotatesInFloat),
    interleaved_model("glm").with_partial(0.5).with_head_dim(128),
    interleaved_model("glm4").with_partial(0.5).with_head_dim(128),
    interleaved_model("glm4v_text glm46v glm4v glmga").with_mrope(kChunkedAxes, 8, 12, 12).with(kReadsPartial),
    interleaved_model("glm_ocr_text glm_ocr").with_mrope(kChunkedAxes, 8, 12, 12).with(kReadsPartial),
    interleaved_model("gptj").with_rotary_dim(64).with(kFixedTheta),
    interleaved_model("helium").with_theta(100000.0).with_head_dim(128),
    interleaved_model("hy_v4_vl_text hy_v4_vl").with_pattern("i").with_latent_dim(64)
        .with_mrope(kInterleavedAxes, 12, 10, 10).with(kDeepSeekYarn | kFixedLayout | kRotatesByRoundedRows),
    interleaved_model("llama4_text llama4").with_theta(500000.0).with_head_dim(128).with_norm(kRmsWeightless, 1e-5)
        .in_order("cfrnt").norm_if("use_qk_norm", true)
        .with(kLlama4 | kEveryFourthNoRope | kNormIfRotated | kRotatesInFloat),
    interleaved_model("moonshine").with_partial(0.9),
    interleaved_model("moonshine_streaming").with_partial(0.8),
    interleaved_model("neobert NeoBERT").with(&HfModel::length_key, "max_length").with(kFixedTheta),
    interleaved_model("openai_privacy_filter").with_theta(150000.0).with_head_dim(64)
        .with_parameters(R"({"rope_type":"yarn","factor":32.0,"beta_fast":32.0,"beta_slow":1.0,"truncate":false,"original_max_position_embeddings":4096,"rope_theta":150000.0})")
        .with_scale(nullptr, 1.0).with_factors({nullptr, -0.25}, {nullptr, -0.25}).in_order("ncrft"),
    interleaved_model("params_of_llama4").with_norm(kRmsWeightless, 1e-5, "norm_eps").in_order("cfrnt")
        .norm_if("use_qk_norm", false).with(kReadsParamsJson | kLlama4 | kNormIfRotated | kRotatesInFloat),
    interleaved_model("pe_audio_encoder").with_theta(20000.0).with_head_dim(128).with_norm(kRmsTwice, 1e-5),
    interleaved_model("pe_audio_video_encoder").with_theta(20000.0).with_head_dim(128).with_norm(kRmsTwice, 1e-5),
    interleaved_model("pe_video_encoder").with_theta(20000.0).with_head_dim(128).with_norm(kRmsTwice, 1e-5),
    interleaved_model("roformer").with(kFixedTheta),
    interleaved_model("transformer").with(kReadsParamsJson | kSlidesEverywhere),
    latent_model("axk1").with_latent_dim(64),
    latent_model("axk2").with_pattern("i").with_latent_dim(32).with(kFixedLayout),
    latent_model("bailing_hybrid").with_latent_dim(64).with_theta(6000000.0).with_pattern("-----f").with(kFixedLayout),
    latent_model("bailing_moe_v2_5").with_latent_dim(64).with_theta(600000.0).with_norm(kRmsTwice, 1e-6)
        .norm_if("use_qk_norm", true).with(kReadsPartial | kLinearRotates | kRestIsFull),
    latent_model("deepseek_v3 kimi_k25").with_latent_dim(64),
    latent_model("deepseek_v32").with_pattern("i").with_latent_dim(64).with(kFixedLayout),
    latent_model("glm4_moe_lite").with_latent_dim(64),
    latent_model("glm_moe_dsa").with_pattern("i").with_latent_dim(64).with(kFixedLayout),
    latent_model("kimi_k2").with_latent_dim(64),
    latent_model("longcat_flash").with_latent_dim(64).with_theta(10000000.0).with(kFixedLayout | kScalesByQueryRank),
    latent_model("mistral4").with_latent_dim(64)
        .with_parameters(R"({"rope_theta":10000.0,"factor":128.0,"original_max_position_embeddings":8192,"beta_fast":32.0,"beta_slow":1.0,"mscale_all_dim":1.0,"mscale":1.0,"llama_4_scaling_beta":0.1,"partial_rotary_factor":0.5,"rope_type":"yarn"})"),
    latent_model("mistral_large4_text mistral_large4").with_pattern("i").with_latent_dim(64)
        .with_parameters(R"({"rope_type":"yarn","rope_theta":10000.0,"factor":2048.0,"original_max_position_embeddings":512,"beta_fast":32.0,"beta_slow":1.0,"attention_factor":1.0})")
        .with(kLearnedLogScale | kEveryFourthNoRope | kFixedLayout | kHasOtherSteps),
    latent_model("sarvam_mla").with_latent_dim(64),
    latent_model("youtu").with_latent_dim(64),
    half_split_model("afmoe").with_head_dim(128).with_pattern("sssf").with_norm(kRms, 1e-5).with(kNoRopeOnFullLayers),
    half_split_model("apertus").with_theta(12000000.0)
        .with_parameters(R"({"rope_type":"llama3","rope_theta":12000000.0,"factor":8.0,"original_max_position_embeddings":8192,"low_freq_factor":1.0,"high_freq_factor":4.0})")
        .with_norm(kRmsTwice, 1e-5),
    half_split_model("apertus1p5_text apertus1p5").with_theta(12000000.0)
        .with_parameters(R"({"rope_type":"llama3","rope_theta":12000000.0,"factor":8.0,"original_max_position_embeddings":8192,"low_freq_factor":1.0,"high_freq_factor":4.0})")
        .with_norm(kRmsTwice, 1e-5),
    half_split_model("aquila").with(kReadsPartial),
    half_split_model("arcee"),
    half_split_model("aria_text aria"),
    half_split_model("baichuan").with(kAlibiWithFortyLayers | kReadsPartial),
    half_split_model("bailing_moe").with_theta(600000.0).with_norm(kRmsTwice, 1e-6).norm_if("use_qk_norm", false)
        .with(kReadsPartial),
    half_split_model("bailing_moe_linear bailing_moe_linear_v2").with_theta(600000.0).with_head_dim(128)
        .with_norm(kRmsTwice, 1e-6).norm_if("use_qk_norm", true)
        .with(kReadsPartial | kLinearRotates | kRestIsFull),
    half_split_model("bailing_moe_v2 bailingmm bailingmm_moe_v2_lite").with_theta(600000.0).with_partial(0.5).with_head_dim(128)
        .with_norm(kRmsTwice, 1e-6).norm_if("use_qk_norm", true),
    half_split_model("bamba").with_partial(0.5).with(kNeedsLayerTypes),
    half_split_model("beam").with_head_dim(128).with_pattern("sssssf").with_norm(kRms, 1e-6)
        .with(kLastIsFull | kRopeByEntry | kRotatesInFloat | kHasOtherSteps),
    half_split_model("bitnet").with_theta(500000.0),
    half_split_model("chameleon").with_norm(kLayerNormEachBias, 1e-5, nullptr),
    half_split_model("clvp_encoder clvp").with_scale(nullptr, 1.0).with_factors({nullptr, -0.5})
        .with(kFixedTheta | kRotatesValues),
    half_split_model("cohere_compass_text cohere_compass").with_mrope(kInterleavedAxes, 24, 20, 20)
        .with(kRopeByEntry),
    half_split_model("cosmos3_edge_text cosmos3_edge").with_theta(100000000.0).with_head_dim(128)
        .with_mrope(kInterleavedAxes, 24, 20, 20),
    half_split_model("csm").with_theta(500000.0),
    half_split_model("csm_depth_decoder_model").with_theta(500000.0),
    half_split_model("cwm").with_theta(1000000.0).with_head_dim(128).with_pattern("fsss")
        .with_parameters(R"({"rope_theta":1000000.0,"factor":16.0,"high_freq_factor":4.0,"low_freq_factor":1.0,"original_max_position_embeddings":8192,"rope_type":"llama3"})"),
    half_split_model("dbrx").with(kBaseInAttnConfig | kClips),
    half_split_model("deepseek").with(kReadsPartial),
    half_split_model("deepseek_ocr2_encoder"),
    half_split_model("deepseek_ocr2_text deepseek_ocr2"),
    half_split_model("dia_decoder dia").with_head_dim(128).with_scale(nullptr, 1.0),
    half_split_model("dia_encoder").with_head_dim(128).with_scale(nullptr, 1.0),
    half_split_model("diffllama"),
    half_split_model("diffusion_gemma_text diffusion_gemma").with_theta(1000000.0, 10000.0).with_head_dim(256, 512)
        .with_pattern("sssssf")
        .with_parameters(R"({"sliding_attention":{"rope_type":"default","rope_theta":10000.0},"full_attention":{"rope_type":"proportional","partial_rotary_factor":0.25,"rope_theta":1000000.0}})")
        .with_norm(kRms, 1e-6).with_v_norm(kRmsWeightless, 1e-6).with_scale(nullptr, 1.0)
        .with(kValuesFromKeys | kLastIsAlwaysFull),
    half_split_model("doge").with_norm(kRmsTwice, 1e-6),
    half_split_model("dory").with_pattern("sssf").with_theta(10000000.0, 10000.0).with_head_dim(256)
        .with_norm(kL2, 1e-6, nullptr).with(kHasOtherSteps),
    half_split_model("dots1").with_norm(kRmsTwice, 1e-6),
    half_split_model("dots3_note_audio_encoder").with(kReadsPartial),
    half_split_model("embedding_gemma2_text embedding_gemma2").with_theta(1000000.0, 10000.0).with_head_dim(256, 512)
        .with_pattern("sssssf").with_norm(kRms, 1e-6).with_v_norm(kRmsWeightless, 1e-6).with_scale(nullptr, 1.0)
        .with(kLastIsAlwaysFull),
    half_split_model("emu3_text_model emu3").with_theta(1000000.0),
    half_split_model("esm").rotates_if("position_embedding_type", "rotary").with_scale(nullptr, 1.0)
        .with_factors({nullptr, -0.5}).with(kRotatesByRoundedRows),
    half_split_model("esmc").with_norm(kLayerNormAllHeads, 1e-5, nullptr),
    half_split_model("eurobert"),
    half_split_model("evolla EvollaModel").with_theta(500000.0),
    half_split_model("exaone").with_theta(500000.0).with(kReadsPartial),
    half_split_model("exaone4 exaone4_5_text exaone4_5").with_pattern("sssf").with_norm(kRmsTwice, 1e-5)
        .with(kNoRopeOnFullLayers | kAllRotateWithoutWindow),
    half_split_model("exaone_moe").with_pattern("sssf").with_norm(kRmsTwice, 1e-5)
        .with(kNoRopeOnFullLayers | kAllRotateWithoutWindow),
    half_split_model("falcon").with_max_positions(2048).with(kMultiQuery),
    half_split_model("falcon_h1").with_factors({}, {"key_multiplier", 1.0}),
    half_split_model("flex_olmo").with_theta(500000.0).with_norm(kRmsAllHeads, 1e-6).with(kRotatesInFloat),
    half_split_model("flint").with_head_dim(128).with_pattern("sfss").with_norm(kRms, 1e-6)
        .with(kNoRopeOnFullLayers | kFirstIsFull | kLastIsFull),
    half_split_model("gemma paligemma colpali").with_head_dim(256),
    half_split_model("gemma2").with_pattern("sf").with_head_dim(256).with_scale("query_pre_attn_scalar", 256.0, true),
    half_split_model("gemma3_text gemma3 shieldgemma2").with_theta(1000000.0, 10000.0).with_pattern("sssssf")
        .with_head_dim(256).with_shape(26, 2304, 8, 4).with_max_positions(131072).with_norm(kRmsPlusOne, 1e-6)
        .with_scale("query_pre_attn_scalar", 256.0, true),
    half_split_model("gemma3n_text gemma3n").with_theta(1000000.0, 10000.0).with_pattern("ssssf").with_head_dim(256)
        .with_shared_layers(15).with_norm(kRms, 1e-6).with_v_norm(kRmsWeightless, 1e-6).with_scale(nullptr, 1.0),
    half_split_model("gemma4_assistant").with_theta(1000000.0, 10000.0).with_pattern("sssssf").with_head_dim(256, 512)
        .with_norm(kRms, 1e-6).with_v_norm(kRmsWeightless, 1e-6).with_scale(nullptr, 1.0).with(kValuesFromKeysIfAsked),
    half_split_model("gemma4_text gemma4").with_theta(1000000.0, 10000.0).with_pattern("sssssf").with_head_dim(256, 512)
        .with_parameters(R"({"sliding_attention":{"rope_type":"default","rope_theta":10000.0},"full_attention":{"rope_type":"proportional","partial_rotary_factor":0.25,"rope_theta":1000000.0}})")
        .with_norm(kRms, 1e-6).with_v_norm(kRmsWeightless, 1e-6).with_scale(nullptr, 1.0)
        .with(kValuesFromKeysIfAsked | kLastIsAlwaysFull),
    half_split_model("gemma4_unified_text gemma4_unified gemma4_unified_assistant").with_theta(1000000.0, 10000.0)
        .with_pattern("sssssf").with_head_dim(256, 512)
        .with_parameters(R"({"sliding_attention":{"rope_type":"default","rope_theta":10000.0},"full_attention":{"rope_type":"proportional","partial_rotary_factor":0.25,"rope_theta":1000000.0}})")
        .with_norm(kRms, 1e-6).with_v_norm(kRmsWeightless, 1e-6).with_scale(nullptr, 1.0)
        .with(kValuesFromKeysIfAsked | kLastIsAlwaysFull),
    half_split_model("glm4_moe").with_partial(0.5).with_norm(kRmsTwice, 1e-5).norm_if("use_qk_norm", false),
    half_split_model("glm4v_moe_text glm4v_moe").with_partial(0.5).with_mrope(kChunkedAxes, 8, 12, 12)
        .with(kReadsPartial),
    half_split_model("glm_image_text glm_image").with_mrope(kChunkedAxes, 8, 12, 12).with(kReadsPartial),
    half_split_model("glmasr_encoder").with_partial(0.5),
    half_split_model("gpt_neox").with_partial(0.25),
    half_split_model("gpt_neox_japanese").with(kReadsPartial),
    half_split_model("gpt_oss").with_theta(150000.0).with_pattern("sf").with_head_dim(64)
        .with_parameters(R"({"rope_type":"yarn","factor":32.0,"beta_fast":32.0,"beta_slow":1.0,"truncate":false,"original_max_position_embeddings":4096,"rope_theta":150000.0})"),
    half_split_model("gradium_phonon_tts"),
    half_split_model("granite granite_speech granite_speech_plus").with_scale("attention_multiplier", 1.0),
    half_split_model("granite4_vision_text granite4_vision").with_scale("attention_multiplier", 1.0),
    half_split_model("granite_docling_text granite_docling").with_scale("attention_multiplier", 0.015625),
    half_split_model("granite_swa").with_pattern("fsss").with_scale("attention_multiplier", 1.0),
    half_split_model("granitemoe").with_scale("attention_multiplier", 1.0),
    half_split_model("granitemoe_swa").with_pattern("fsss").with_scale("attention_multiplier", 1.0),
    half_split_model("granitemoehybrid").rotates_if("position_embedding_type", "rope")
        .with_scale("attention_multiplier", 1.0).with(kNeedsLayerTypes),
    half_split_model("granitemoeshared").with_scale("attention_multiplier", 1.0),
    half_split_model("grok1 grok-1 grok").with_head_dim(128).with(kRopeTypeBeside | kHasOtherSteps),
    half_split_model("gte").with_theta(160000.0).with(kMixedNtk),
    half_split_model("higgs_audio_v2").with_theta(500000.0).with_head_dim(128)
        .with_parameters(R"({"factor":32.0,"rope_theta":500000.0,"high_freq_factor":0.5,"low_freq_factor":0.125,"original_max_position_embeddings":1024,"rope_type":"llama3"})"),
    half_split_model("hrm_text").with_head_dim(128),
    half_split_model("hunyuan").with_norm(kRmsTwice, 1e-5).in_order("cfrnt").norm_if("use_qk_norm", true)
        .with(kReadsPartial),
    half_split_model("hunyuan_v1_dense").with_norm(kRmsTwice, 1e-5).in_order("cfrnt"),
    half_split_model("hunyuan_v1_moe").with_norm(kRmsTwice, 1e-5).in_order("cfrnt"),
    half_split_model("hunyuan_vl_text hunyuan_vl").with_norm(kRmsTwice, 1e-5).in_order("cfrnt")
        .with(kRotatesByRoundedRows),
    half_split_model("hy_v3").with_theta(11158840.0).with_head_dim(128).with_norm(kRmsTwice, 1e-5),
    half_split_model("hy_v4").with_pattern("i").with_latent_dim(64).with(kDeepSeekYarn),
    half_split_model("hyperclovax hyperclovax_vision_v2").with_scale("attention_multiplier", 0.0),
    half_split_model("idefics"),
    half_split_model("internlm").with(kReadsPartial),
    half_split_model("internlm2").with(kReadsPartial),
    half_split_model("internlm3").with_head_dim(128),
    half_split_model("iquestcoder").with_head_dim(128),
    half_split_model("jais2"),
    half_split_model("jetmoe").with_head_dim(128),
    half_split_model("jina_embeddings_v3").with_theta(20000.0),
    half_split_model("kolibri1").with_head_dim(128).with_pattern("ssssf").with_norm(kRmsTwice, 1e-6)
        .with(kNoRopeOnFullLayers | kAllRotateWithoutWindow),
    half_split_model("kyutai_speech_to_text"),
    half_split_model("laguna").with_theta(500000.0, 10000.0).with_head_dim(128)
        .with_parameters(R"({"full_attention":{"rope_type":"default","rope_theta":500000.0,"partial_rotary_factor":0.5},"sliding_attention":{"rope_type":"default","rope_theta":10000.0,"partial_rotary_factor":1.0}})")
        .with_norm(kRmsTwice, 1e-6).with(kReadsPartial),
    half_split_model("lara_mini").with_head_dim(128).with_pattern("-s-fs").with_norm(kRms, 1e-6)
        .with(kNoRopeOnFullLayers),
    half_split_model("lasr_encoder"),
    half_split_model("lfm2 lfm2_vl").with_theta(1000000.0).with_norm(kRmsTwice, 1e-5, "norm_eps"),
    half_split_model("lfm2_moe").with_theta(1000000.0).with_norm(kRmsTwice, 1e-5, "norm_eps").with(kNeedsLayerTypes),
    half_split_model("lfm3 lfm3_vl").with_theta(1000000.0, 10000.0).with_head_dim(128)
        .with_parameters(R"({"sliding_attention":{"rope_type":"default","rope_theta":10000.0},"full_attention":{"rope_type":"proportional","rope_theta":1000000.0,"partial_rotary_factor":0.5}})")
        .with_norm(kRmsTwice, 1e-5).with(kNeedsLayerTypes | kReadsPartial | kRotatesInFloat),
    half_split_model("llama deepseek_vl deepseek_vl_hybrid glmasr idefics3 janus llava llava_next llava_next_video " "omniasr perception_lm smolvlm video_llava vipllava voxtral")
        .with_shape(32, 4096, 32, 32),
    half_split_model("mellum").with_theta(500000.0, 10000.0).with_head_dim(128)
        .with_parameters(R"({"full_attention":{"rope_type":"default","rope_theta":500000.0},"sliding_attention":{"rope_type":"default","rope_theta":10000.0}})")
        .with_norm(kRmsTwice, 1e-6),
    half_split_model("mimi"),
    half_split_model("mimi_decoder"),
    half_split_model("mimi_encoder"),
    half_split_model("mimo_v2_flash").with_theta(5000000.0, 10000.0).with_partial(0.334).with_head_dim(192)
        .with_pattern("sssssf")
        .with_parameters(R"({"full_attention":{"rope_type":"default","rope_theta":5000000.0,"partial_rotary_factor":0.334},"sliding_attention":{"rope_type":"default","rope_theta":10000.0,"partial_rotary_factor":0.334}})")
        .with_factors({}, {}, {"attention_value_scale", 0.707}).with(kFirstIsFull | kScalingOnFullOnly),
    half_split_model("mimo").with(kSlidesIfAsked | kReadsPartial),
    half_split_model("minicpm").with(kReadsPartial),
    half_split_model("minicpm3").with_latent_dim(32),
    half_split_model("minimax").with_theta(1000000.0).with_pattern("f-"),
    half_split_model("minimax_m2").with_theta(5000000.0).with_head_dim(128).with_norm(kRmsAllHeadsTwice, 1e-6)
        .with(kReadsPartial),
    half_split_model("minimax_m3").with_theta(5000000.0).with_rotary_dim(64).with_head_dim(128)
        .with_norm(kRmsPlusOne, 1e-6).with(kReadsPartial),
    half_split_model("minimax_m3_vl_text minimax_m3_vl").with_theta(5000000.0).with_rotary_dim(64).with_head_dim(128)
        .with_norm(kRmsPlusOne, 1e-6).with(kReadsPartial),
    half_split_model("minimax_text_01 minimax_m1").with_theta(10000000.0).with_head_dim(128)
        .with(kNeedsLayerTypes | kReadsPartial),
    half_split_model("ministral").with(kSlidesEverywhere),
    half_split_model("ministral3").with_theta(1000000.0).with_head_dim(128)
        .with_parameters(R"({"rope_theta":1000000.0,"factor":16.0,"original_max_position_embeddings":16384,"beta_fast":32.0,"beta_slow":1.0,"mscale_all_dim":1.0,"mscale":1.0,"llama_4_scaling_beta":0.1,"rope_type":"yarn"})")
        .with(kSlidesEverywhere),
    half_split_model("mistral idefics2").with_shape(32, 4096, 32, 8).with(kSlidesEverywhere),
    half_split_model("mistral3").with(kSlidesEverywhere),
    half_split_model("mixtral").with_theta(1000000.0).with(kSlidesEverywhere),
    half_split_model("mllama_text_model mllama").with_theta(500000.0).with(kNeedsLayerTypes),
    half_split_model("modernbert modernvbert pe_audio pe_audio_video pe_video colmodernvbert")
        .with_theta(160000.0, 10000.0).with_pattern("fss").with(kRotatesByRoundedRows),
    half_split_model("modernbert-decoder").with_theta(160000.0, 10000.0).with_pattern("fss").with(kRotatesByRoundedRows),
    half_split_model("molmo2_text molmo2").with_head_dim(128).with_norm(kRmsTwice, 1e-6),
    half_split_model("moshi"),
    half_split_model("muse_glimmer_assistant").with_theta(500000.0).with_head_dim(128).with_pattern("s")
        .with_norm(kRmsTwice, 1e-5),
    half_split_model("muse_glimmer_text muse_glimmer").with_head_dim(128).with_pattern("sssf")
        .with_norm(kRmsWeightless, 1e-5).with_factors({"qk_scale_factor", 3.87})
        .with(kEveryFourthNoRope | kPatternFromTheEnd | kThetaListIsSwitch),
    half_split_model("muse_spark_text muse_spark").with_theta(500000.0).with_head_dim(64).with_pattern("sssf")
        .with_norm(kRmsWeightless, 1e-5).with_factors({"qk_scale_factor", 5.4730064863875})
        .with(kEveryFourthNoRope | kPatternFromTheEnd | kThetaListIsSwitch),
    half_split_model("nanochat").with_norm(kRmsWeightless, 1e-6).in_order("cfrnt").with(kReversed),
    half_split_model("nemotron").with_partial(0.5),
    half_split_model("nemotron-nas").with_theta(500000.0).with(kNeedsLayerTypes | kReadsPartial),
    half_split_model("nemotron3_5_transcribe_asr_audio").with_norm(kLayerNorm, 1e-5, nullptr).with(kReadsPartial),
    half_split_model("nemotron3_5_transcribe_word_timestamp").with_partial(0.5).with_norm(kLayerNorm, 1e-5, nullptr),
    half_split_model("nemotron3_diarization_audio").with(kReadsPartial),
    half_split_model("neomme").with_theta(1000000.0, 10000.0).with_head_dim(64).with_pattern("sssssf")
        .with_parameters(R"({"sliding_attention":{"rope_type":"default","rope_theta":10000.0,"partial_rotary_factor":1.0},"full_attention":{"rope_type":"default","rope_theta":1000000.0,"partial_rotary_factor":0.25}})")
        .with_norm(kRmsWeightless, 1e-6, "norm_eps").with(kLastIsFull | kReadsPartial | kValueEmbeddings),
    half_split_model("neucodec").with_head_dim(64),
    half_split_model("new").with(kMixedNtk),
    half_split_model("nomic_bert").with_theta(1000.0),
    half_split_model("olmo").with(kRotatesInFloat | kClips),
    half_split_model("olmo2").with_norm(kRmsAllHeads, 1e-5).with(kRotatesInFloat),
    half_split_model("olmo3").with_theta(500000.0).with_pattern("sssf").with_norm(kRmsAllHeads, 1e-5)
        .with(kScalingOnFullOnly | kRotatesInFloat),
    half_split_model("olmo_hybrid").with_pattern("---f").with_norm(kRmsAllHeads, 1e-6).with(kRopeIfTheta | kRotatesInFloat),
    half_split_model("olmoe").with_norm(kRmsAllHeadsTwice, 1e-5).with(kClips),
    half_split_model("openpangu_v2").with_latent_dim(64).with(kHasOtherSteps),
    half_split_model("openpangu_v2_vl_moe openpangu_v2_vl openpangu_vl_text openpangu_vl").with_mrope(kApportionedAxes).with(kReadsPartial),
    half_split_model("orion").with(kReadsPartial),
    half_split_model("paddleocr_vl_text paddleocr_vl").with_theta(500000.0).with_head_dim(128)
        .with_mrope(kChunkedAxes, 16, 24, 24),
    half_split_model("PanguEmbedded"),
    half_split_model("persimmon fuyu").with_partial(0.5).with_norm(kLayerNorm, 1e-5, "layer_norm_eps")
        .norm_if("qk_layernorm", true),
    half_split_model("phi").with_partial(0.5).with_norm(kLayerNorm, 1e-5, "layer_norm_eps")
        .norm_if("qk_layernorm", false),
    half_split_model("phi3").with(kSlidesEverywhere | kReadsPartial),
    half_split_model("phi4_multimodal").with(kSlidesEverywhere | kReadsPartial),
    half_split_model("phimoe").with_theta(1000000.0).with(kSlidesEverywhere),
    half_split_model("pocket_tts"),
    half_split_model("pocket_tts_audio_tokenizer"),
    half_split_model("pocket_tts_audio_tokenizer_decoder"),
    half_split_model("pocket_tts_audio_tokenizer_encoder"),
    half_split_model("qwen").with_head_dim(128).with(kReadsPartial),
    half_split_model("qwen2 audioflamingo3 fast_vlm got_ocr2 internvl llava_onevision musicflamingo ovis2 " "pp_chart2table qwen2_audio vibevoice vibevoice_asr video_llama_3 vibepod")
        .with_shape(32, 4096, 32, 32).with(kSlidesIfAsked),
    half_split_model("qwen2_5_omni_talker").with_theta(1000000.0).with_head_dim(128)
        .with_mrope(kChunkedAxes, 16, 24, 24),
    half_split_model("qwen2_5_omni_text qwen2_5_omni_thinker qwen2_5_omni").with_theta(1000000.0)
        .with_mrope(kChunkedAxes, 16, 24, 24),
    half_split_model("qwen2_5_vl_text qwen2_5_vl").with_theta(1000000.0).with_mrope(kChunkedAxes, 16, 24, 24)
        .with(kSlidesIfAsked),
    half_split_model("qwen2_moe"),
    half_split_model("qwen2_vl_text qwen2_vl colqwen2").with_theta(1000000.0).with_mrope(kChunkedAxes, 16, 24, 24)
        .with(kSlidesIfAsked),
    half_split_model("qwen3 fun_asr_nano interns1 lighton_ocr moss_transcribe_diarize qianfan_ocr qwen3_asr").with_head_dim(128)
        .with_norm(kRmsTwice, 1e-6).with(kSlidesIfAsked),
    half_split_model("qwen3_5_moe_text qwen3_5_moe qwen3_8_moe_text qwen3_8_moe").with_partial(0.25).with_head_dim(256).with_pattern("---f")
        .with_mrope(kInterleavedAxes, 11, 11, 10).with_norm(kRmsPlusOne, 1e-6),
    half_split_model("qwen3_5_text jev minicpm_ocr minicpmv4_6 minicpmv4_7 qwen3_5 qwen3_8_text qwen3_8").with_partial(0.25)
        .with_head_dim(256).with_pattern("---f").with_mrope(kInterleavedAxes, 11, 11, 10)
        .with_norm(kRmsPlusOne, 1e-6),
    half_split_model("qwen3_tts qwen3_tts_talker").with_theta(1000000.0).with_mrope(kInterleavedAxes).with_norm(kRmsTwice, 1e-6),
    half_split_model("qwen3_moe").with_norm(kRmsTwice, 1e-6).with(kSlidesIfAsked),
    half_split_model("qwen3_next").with_partial(0.25).with_pattern("---f").with_head_dim(256)
        .with_norm(kRmsPlusOne, 1e-6),
    half_split_model("qwen3_omni_moe_talker_code_predictor").with_head_dim(128).with_norm(kRmsTwice, 1e-6),
    half_split_model("qwen3_omni_moe_talker_text").with_mrope(kInterleavedAxes, 24, 20, 20)
        .with_norm(kRmsTwice, 1e-6),
    half_split_model("qwen3_omni_moe_text qwen3_omni_moe_thinker qwen3_omni_moe").with_theta(1000000.0)
        .with_mrope(kInterleavedAxes, 24, 20, 20).with_norm(kRmsTwice, 1e-6),
    half_split_model("qwen3_vl_moe_text qwen3_vl_moe").with_theta(500000.0).with_mrope(kInterleavedAxes, 24, 20, 20)
        .with_norm(kRmsTwice, 1e-6),
    half_split_model("qwen3_vl_text cosmos3_omni qwen3_vl").with_theta(500000.0).with_head_dim(128)
        .with_mrope(kInterleavedAxes, 24, 20, 20).with_norm(kRmsTwice, 1e-6),
    half_split_model("qwen4_exp_text qwen4_exp qwen3_8_flash_next_text qwen3_8_flash_next").with_head_dim(256).with_pattern("---f")
        .with_mrope(kInterleavedAxes, 11, 11, 10).with_norm(kRmsPlusOne, 1e-6).with(kReadsPartial),
    half_split_model("recurrent_gemma").with_partial(0.5).with_pattern("--s"),
    half_split_model("sarvam_moe").with_theta(8000000.0).with_head_dim(64).with_norm(kRmsTwice, 1e-6)
        .norm_if("use_qk_norm", true).with(kReadsPartial),
    half_split_model("seed_oss").with_head_dim(128),
    half_split_model("skywork").with(kReadsPartial),
    half_split_model("smollm3").with_theta(2000000.0).with(kEveryFourthNoRope),
    half_split_model("solar_open").with_theta(1000000.0).with_head_dim(128).with(kReadsPartial),
    half_split_model("stablelm").with_partial(0.25).with_norm(kLayerNormEach, 1e-5, "layer_norm_eps")
        .norm_if("qk_layernorm", false).with(kReadsPartial),
    half_split_model("starcoder2").with(kSlidesEverywhere),
    half_split_model("step3_text step3_vl").with_theta(500000.0).with_head_dim(256),
    half_split_model("step3p5 step3p7 step3p7_text step4 step5").with_head_dim(128).with_norm(kRmsPlusOne, 1e-5)
        .with_scale("query_pre_attn_scalar", 0.0, true).with(kScalingOnFullOnly | kReadsPartial),
    half_split_model("t5_gemma_module t5gemma").with_head_dim(256).with_pattern("sf")
        .with_scale("query_pre_attn_scalar", 256.0, true),
    half_split_model("t5gemma2_decoder t5gemma2").with_theta(1000000.0, 10000.0).with_head_dim(256)
        .with_pattern("sssssf").with_norm(kRmsPlusOne, 1e-6).with_scale("query_pre_attn_scalar", 256.0, true),
    half_split_model("t5gemma2_text t5gemma2_encoder").with_theta(1000000.0, 10000.0).with_head_dim(256)
        .with_pattern("sssssf").with_norm(kRmsPlusOne, 1e-6).with_scale("query_pre_attn_scalar", 256.0, true),
    half_split_model("telechat3").with_log_coefficient(0.07).with(kReadsPartial),
    half_split_model("timesfm2_5").with_head_dim(80).with_norm(kRmsTwice, 1e-6).in_order("cfrnt").with_scale(nullptr, 1.0)
        .with(kHasOtherSteps),
    half_split_model("ultrabert ultravbert").with_theta(2560000.0, 10000.0).with_pattern("ssf"),
    half_split_model("unlimited_ocr_text unlimited_ocr"),
    half_split_model("vaultgemma").with_head_dim(256).with_pattern("sf")
        .with_scale("query_pre_attn_scalar", 256.0, true),
    half_split_model("voxtral_realtime_encoder").with_head_dim(64),
    half_split_model("voxtral_realtime_text voxtral_realtime"),
    half_split_model("wav2vec2-bert").rotates_if("position_embeddings_type", "rotary"),
    half_split_model("wav2vec2-conformer").rotates_if("position_embeddings_type", "rotary"),
    half_split_model("xcodec2").with_head_dim(64),
    half_split_model("xverse").with(kReadsPartial),
    half_split_model("yi").with(kReadsPartial),
    half_split_model("zamba2").rotates_if("use_mem_rope").with(kHalfHeadScale),
    half_split_model("zaya").with_theta(5000000.0, 10000.0).with_partial(0.5).with_head_dim(128)
        .with_parameters(R"({"hybrid":{"rope_type":"default","rope_theta":5000000.0,"partial_rotary_factor":0.5},"hybrid_sliding":{"rope_type":"default","rope_theta":10000.0,"partial_rotary_factor":0.5}})")
        .with_norm(kRmsWeightless, 0.0, nullptr).with(kReadsPartial | kHasOtherSteps),
    half_split_model("jamba").with(kNoRope),
    half_split_model("nemotron_h nemotron_h_omni nemo_speechlm").with(kNoRope),
    half_split_model("kimi_linear kimi_k3").with(kNoRope),
    half_split_model("glm5_next glm5_next_text").with(kNoRope),
    half_split_model("inkling inkling_text inkling2 inkling2_text").with(kNoRope),
    half_split_model("seamless_m4t").with(kNoRope),
    half_split_model("clvp_decoder").with(kNoRope),
};
// clang-format on

ROPE_DETAIL_END
